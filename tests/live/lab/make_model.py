"""Make a tiny Llama, its tokenizer and its drafts, whose guesses are right part of the time.

The target's next token depends mostly on the embedding of the last token, and the drafts copy that
with some noise; the noise dials how often a draft is right. Run by `setup` with the lab's Python.

usage: make_model.py FOLDER [NOISE_EAGLE [NOISE_EAGLE3 [NOISE_STANDALONE]]]
"""

import json
import sys
import sysconfig
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

VOCABULARY, HIDDEN, INTERMEDIATE, HEADS, KV_HEADS, LAYERS = 1024, 64, 128, 4, 2, 2
DEFAULT_NOISE = (0.02, 0.006, 0.003)
SHARD_SIZE = "60KB"  # five shards, so that the loading bar has steps
SPECIAL_TOKENS = ["<s>", "</s>", "<unk>", "<pad>"]
CHAT_TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "intermediate_size": INTERMEDIATE,
    "num_attention_heads": HEADS,
    "head_dim": HIDDEN // HEADS,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 3,
    "tie_word_embeddings": False,
    "dtype": "bfloat16",
}


def make_tokenizer():
    """A byte-level BPE trained on the standard library."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    library = Path(sysconfig.get_paths()["stdlib"])
    tokenizer.train(
        [str(file) for file in sorted(library.glob("*.py"))[:60]],
        trainers.BpeTrainer(
            vocab_size=VOCABULARY,
            special_tokens=SPECIAL_TOKENS,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def make_target():
    """A random Llama in which the context changes the next token only a little."""
    config = LlamaConfig(num_hidden_layers=LAYERS, num_key_value_heads=KV_HEADS, **SHAPE)
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    with torch.no_grad():
        model.model.embed_tokens.weight.normal_(0, 1.0)
        for layer in model.model.layers:
            layer.self_attn.v_proj.weight.mul_(2)
            layer.self_attn.o_proj.weight.mul_(2)
    return model


def small(*shape, scale=0.02):
    """Random weights near zero."""
    return torch.randn(*shape) * scale


def mlp(prefix):
    """The MLP half of one draft layer."""
    return {
        f"{prefix}mlp.gate_proj.weight": small(INTERMEDIATE, HIDDEN),
        f"{prefix}mlp.up_proj.weight": small(INTERMEDIATE, HIDDEN),
        f"{prefix}mlp.down_proj.weight": small(HIDDEN, INTERMEDIATE),
        f"{prefix}post_attention_layernorm.weight": torch.ones(HIDDEN),
    }


def save_draft(folder, architecture, kv_heads, weights, **extra):
    """Write one draft as SGLang expects it: `config.json` and `model.safetensors`."""
    folder.mkdir(parents=True, exist_ok=True)
    config = LlamaConfig(num_hidden_layers=1, num_key_value_heads=kv_heads, **SHAPE).to_dict()
    config.update(extra, architectures=[architecture])
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    tensors = {
        name: (w.to(torch.bfloat16) if w.is_floating_point() else w).contiguous()
        for name, w in weights.items()
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def eagle_weights(noise):
    """EAGLE: the embedding goes straight through."""
    prefix, kv = "layers.0.", HIDDEN * KV_HEADS // HEADS
    straight = torch.cat([torch.eye(HIDDEN), torch.zeros(HIDDEN, HIDDEN)], 1)
    return {
        **mlp(prefix),
        f"{prefix}self_attn.q_proj.weight": small(HIDDEN, HIDDEN),
        f"{prefix}self_attn.k_proj.weight": small(kv, HIDDEN),
        f"{prefix}self_attn.v_proj.weight": small(kv, HIDDEN),
        f"{prefix}self_attn.o_proj.weight": small(HIDDEN, HIDDEN),
        "fc.weight": straight + small(HIDDEN, 2 * HIDDEN, scale=noise),
    }


def eagle3_weights(noise, lm_head):
    """EAGLE-3: attention hands on the embedding and cancels what the residual carries."""
    prefix, eye = "midlayer.", torch.eye(HIDDEN)
    first = torch.cat([eye, torch.zeros(HIDDEN, HIDDEN)], 1)
    return {
        **mlp(prefix),
        f"{prefix}self_attn.q_proj.weight": 4 * first,
        f"{prefix}self_attn.k_proj.weight": 4 * first,
        f"{prefix}self_attn.v_proj.weight": torch.cat([eye, -eye], 1),
        f"{prefix}self_attn.o_proj.weight": eye,
        f"{prefix}hidden_norm.weight": torch.ones(HIDDEN),
        f"{prefix}input_layernorm.weight": torch.ones(HIDDEN),
        "norm.weight": torch.ones(HIDDEN),
        "fc.weight": torch.zeros(HIDDEN, 3 * HIDDEN),
        "lm_head.weight": lm_head + small(VOCABULARY, HIDDEN, scale=noise),
        "d2t": torch.zeros(VOCABULARY, dtype=torch.int64),
        "t2d": torch.ones(VOCABULARY, dtype=torch.bool),
    }


def main():
    """Write the target and its drafts into the folder that was named."""
    folder = Path(sys.argv[1])
    given = tuple(float(word) for word in sys.argv[2:5])
    eagle, eagle3, standalone = given + DEFAULT_NOISE[len(given) :]
    torch.manual_seed(0)
    tokenizer, target = make_tokenizer(), make_target()
    target.save_pretrained(folder / "tiny-llama", max_shard_size=SHARD_SIZE)
    tokenizer.save_pretrained(folder / "tiny-llama")
    lm_head = target.lm_head.weight.detach().clone()
    with torch.no_grad():
        target.lm_head.weight.add_(torch.randn(VOCABULARY, HIDDEN) * standalone)
    target.save_pretrained(folder / "tiny-standalone")
    tokenizer.save_pretrained(folder / "tiny-standalone")
    save_draft(folder / "tiny-eagle", "LlamaForCausalLMEagle", KV_HEADS, eagle_weights(eagle))
    save_draft(
        folder / "tiny-eagle3",
        "LlamaForCausalLMEagle3",
        HEADS,
        eagle3_weights(eagle3, lm_head),
        draft_vocab_size=VOCABULARY,
    )


if __name__ == "__main__":
    main()
