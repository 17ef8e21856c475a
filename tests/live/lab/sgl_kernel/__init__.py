"""Plain-torch stand-in for the CPU build of sgl-kernel, which no registry has.

Only the few operations that SGLang 0.5.x imports unconditionally on a CPU, and the two attention
operations of its intel_amx backend. `convert_weight_packed` is left out on purpose: SGLang then
sees no AMX and uses torch-native layers.
"""

import ctypes

import torch

__version__ = "0.0.0+stub"


def _rows(req_pool_indices, start, end):
    return zip(req_pool_indices.tolist(), start.tolist(), end.tolist(), strict=False)


def assign_req_to_token_pool_cpu(
    req_pool_indices, req_to_token, start, end, out_cache_loc, pool_len
):
    o = 0
    for r, s, e in _rows(req_pool_indices, start, end):
        req_to_token[r, s:e] = out_cache_loc[o : o + e - s].to(req_to_token.dtype)
        o += e - s


def assign_extend_cache_locs_cpu(
    req_pool_indices, req_to_token, start, end, out_cache_loc, pool_len
):
    o = 0
    for r, s, e in _rows(req_pool_indices, start, end):
        out_cache_loc[o : o + e - s] = req_to_token[r, s:e].to(out_cache_loc.dtype)
        o += e - s


def assign_draft_cache_locs_contiguous_cpu(
    req_pool_indices, req_to_token, seq_lens, out_cache_loc, pool_len, topk, num_cols
):
    n = topk * num_cols
    for i, (r, s) in enumerate(zip(req_pool_indices.tolist(), seq_lens.tolist(), strict=False)):
        out_cache_loc[i * n : (i + 1) * n] = req_to_token[r, s : s + n].to(out_cache_loc.dtype)


def fill_bonus_tokens_cpu(accept_tokens, accept_lens, bonus_tokens, stride):
    n = accept_lens.numel()
    idx = torch.arange(n) * stride + accept_lens.to(torch.int64) - 1
    bonus_tokens[:n] = accept_tokens.flatten()[idx].to(bonus_tokens.dtype)


def fill_accept_out_cache_loc_cpu(accept_index, out_cache_loc, accept_out_cache_loc):
    src = accept_index.flatten()
    src = src[src > -1].to(torch.int64)
    accept_out_cache_loc[: src.numel()] = out_cache_loc[src].to(accept_out_cache_loc.dtype)


def copy_all_layer_kv_cache_cpu(data_ptrs, strides, tgt, src):
    for p, st in zip(data_ptrs.tolist(), strides.tolist(), strict=False):
        p &= (1 << 64) - 1
        vals = [ctypes.string_at(p + s * st, st) for s in src.tolist()]
        for t, v in zip(tgt.tolist(), vals, strict=False):
            ctypes.memmove(p + t * st, v, st)


def rotate_input_ids_cpu(
    input_ids, extend_start_loc, extend_seq_lens, topk_index, select_index=None
):
    for i, (s, n) in enumerate(
        zip(extend_start_loc.tolist(), extend_seq_lens.tolist(), strict=False)
    ):
        if n <= 0:
            continue
        input_ids[s : s + n - 1] = input_ids[s + 1 : s + n].clone()
        at = s + n - 1 if select_index is None else int(select_index[i])
        input_ids[at] = topk_index.flatten()[i].to(input_ids.dtype)


def build_tree_kernel_efficient_cpu(
    parent_list,
    selected_index,
    seq_lens,
    tree_mask,
    positions,
    retrieve_index,
    retrieve_next_token,
    retrieve_next_sibling,
    topk,
    depth,
    n,
    mode,
):
    bs = seq_lens.shape[0]
    mode = int(mode)
    prefix = 0
    ri = retrieve_index.view(bs, n)
    nt = retrieve_next_token.view(bs, n)
    ns = retrieve_next_sibling.view(bs, n)
    for b in range(bs):
        sl = int(seq_lens[b])
        sel = selected_index[b].tolist()
        par = parent_list[b].tolist() if parent_list.dim() > 1 else parent_list.tolist()
        ri[b] = torch.arange(b * n, b * n + n).to(ri.dtype)
        for i in range(n - 1, 0, -1):
            pt = sel[i - 1] // topk
            pp = 0
            if pt != 0:
                if par[pt] not in sel[: n - 1]:
                    continue
                pp = sel.index(par[pt]) + 1
            old = int(nt[b, pp])
            nt[b, pp] = i
            if old != -1:
                ns[b, i] = old
        positions[b * n] = sl
        base = n * n * b + (prefix * n if mode == 0 else 0)
        for d in range(n):
            at = base + ((sl + n) * d + sl if mode == 0 else n * d)
            row = tree_mask[at : at + n]
            row[:] = 0
            row[0] = 1
            if d:
                cur, pos = d - 1, 0
                for _ in range(depth):
                    pos += 1
                    row[cur + 1] = 1
                    pt = sel[cur] // topk
                    if pt == 0 or par[pt] not in sel[: n - 1]:
                        break
                    cur = sel.index(par[pt])
                positions[b * n + d] = pos + sl
        prefix += sl


def verify_tree_greedy_cpu(
    predicts,
    accept_index,
    accept_token_num,
    candidates,
    retrive_index,
    retrive_next_token,
    retrive_next_sibling,
    target_predict,
):
    bs, steps = accept_index.shape
    cand, ri = candidates.tolist(), retrive_index.tolist()
    nt, ns, tp = (
        retrive_next_token.tolist(),
        retrive_next_sibling.tolist(),
        target_predict.flatten().tolist(),
    )
    for b in range(bs):
        last = ri[b][0]
        accept_index[b, 0] = last
        acc = 0
        cur = 0
        for _ in range(1, steps):
            cur = nt[b][cur]
            tgt = tp[last]
            while cur != -1 and cand[b][cur] != tgt:
                cur = ns[b][cur]
            if cur == -1:
                break
            predicts[last] = tgt
            acc += 1
            last = ri[b][cur]
            accept_index[b, acc] = last
        accept_token_num[b] = acc
        predicts[last] = tp[last]


def build_draft_decode_metadata_cpu(
    req_to_token, req_pool_indices, seq_lens, topk, num_steps, pool_len
):
    bs = seq_lens.shape[0]
    out = torch.zeros((bs * topk, pool_len), dtype=req_to_token.dtype)
    for i, (r, s) in enumerate(zip(req_pool_indices.tolist(), seq_lens.tolist(), strict=False)):
        for k in range(topk):
            row = out[i * topk + k]
            row[:s] = req_to_token[r, :s]
            row[s : s + num_steps] = req_to_token[r, s + k * num_steps : s + (k + 1) * num_steps]
    return out


def _attend(q, keys, values, scale, cap, mask):
    # q [T,H,D], keys [S,Hk,D], values [S,Hk,Dv]; mask: bool [T,S] or None
    g = q.shape[1] // keys.shape[1]
    keys = keys.to(torch.float32).repeat_interleave(g, 1)
    values = values.to(torch.float32).repeat_interleave(g, 1)
    a = torch.einsum("thd,shd->hts", q.to(torch.float32), keys) * scale
    if cap and cap > 0:
        a = cap * torch.tanh(a / cap)
    if mask is not None:
        a = a.masked_fill(~mask, float("-inf"))
    return torch.einsum("hts,shd->thd", a.softmax(-1), values)


def decode_attention_cpu(
    q,
    k_buf,
    v_buf,
    k_scale,
    v_scale,
    o,
    k,
    v,
    loc,
    attn_logits,
    req_to_token,
    req_pool_indices,
    seq_lens,
    scaling,
    cap,
    is_cross,
    window,
    encoder_lens,
    sinks,
):
    if k is not None and v is not None:
        k_buf[loc] = k.reshape(-1, *k_buf.shape[1:]).to(k_buf.dtype)
        v_buf[loc] = v.reshape(-1, *v_buf.shape[1:]).to(v_buf.dtype)
    for i, (r, s) in enumerate(zip(req_pool_indices.tolist(), seq_lens.tolist(), strict=False)):
        ix = req_to_token[r, :s].to(torch.int64)
        o[i] = _attend(q[i : i + 1], k_buf[ix], v_buf[ix], scaling, cap, None)[0].to(o.dtype)


def extend_attention_cpu(
    q,
    k,
    v,
    o,
    k_buf,
    v_buf,
    k_scale,
    v_scale,
    req_to_token,
    req_pool_indices,
    seq_lens,
    extend_seq_lens,
    extend_start_loc,
    max_extend,
    scaling,
    cap,
    is_cross,
    window,
    encoder_lens,
    sinks,
    tree_mask,
    is_causal,
):
    off = 0
    for _i, (r, s, n, st) in enumerate(
        zip(
            req_pool_indices.tolist(),
            seq_lens.tolist(),
            extend_seq_lens.tolist(),
            extend_start_loc.tolist(),
            strict=False,
        )
    ):
        if n == 0:
            continue
        ix = req_to_token[r, :s].to(torch.int64)
        m = None
        if is_causal:
            m = torch.ones(n, s, dtype=torch.bool).tril(s - n)
        if tree_mask is not None:  # QLEN_ONLY: bs * n * n
            m = torch.ones(n, s, dtype=torch.bool)
            m[:, s - n :] = tree_mask.flatten()[off : off + n * n].view(n, n).bool()
            off += n * n
        o[st : st + n] = _attend(q[st : st + n], k_buf[ix], v_buf[ix], scaling, cap, m).to(o.dtype)


for _f in (decode_attention_cpu, extend_attention_cpu):
    setattr(torch.ops.sgl_kernel, _f.__name__, _f)


def _unused(*a, **k):
    raise NotImplementedError("stub sgl_kernel op")


# looked up at import time by model files this stub never runs (grok, qwen3.5, ...)
for _n in (
    "fused_moe_router_cpu",
    "fused_sigmoid_mul_cpu",
    "fused_qk_gemma_rmsnorm_cpu",
    "fused_qkvzba_split_reshape_cat_cpu",
    "shared_expert_cpu",
    "fused_experts_cpu",
    "biased_grouped_topk_cpu",
    "grouped_topk_cpu",
    "topk_softmax_cpu",
    "topk_sigmoid_cpu",
):
    setattr(torch.ops.sgl_kernel, _n, _unused)
