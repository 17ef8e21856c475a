from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from eagletui.engine.import_server import Imported, Secret, import_server
from eagletui.engine.start_plan import ProfileIncomplete, start_plan
from eagletui.model.errors import EagletuiError
from eagletui.model.profile import Profile, ServerPart, SpeculativePart, StartPlan
from eagletui.model.references import SecretMissing, mask_start

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone.utc)
KIMI = Profile(
    name="kimi",
    server=ServerPart(
        model="/models/Kimi-K2.5",
        python="/opt/venv/bin/python",
        port=30001,
        log="logs/{profile}-{time}.log",
        flags={
            "tp-size": 8,
            "enable-metrics": True,
            "mem-fraction-static": 0.85,
            "cuda-graph-bs": ("1", "2", "4"),
        },
    ),
    speculative=SpeculativePart(flags={"algorithm": "EAGLE3", "num-steps": 2}),
    environment={"NCCL_PROTO": "LL"},
)
KIMI_ARGV = (
    *("/opt/venv/bin/python", "-m", "sglang.launch_server"),
    *("--model-path", "/models/Kimi-K2.5", "--port", "30001"),
    *("--tp-size", "8", "--enable-metrics", "--mem-fraction-static", "0.85"),
    *("--cuda-graph-bs", "1", "2", "4"),
    *("--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "2"),
)


def plan(profile: Profile, **variables: str) -> StartPlan:
    return start_plan(profile, now=NOW, variables=variables)


def again(imported: Imported, **variables: str) -> tuple[str, ...]:
    return plan(imported.profile, **variables).argv


def test_the_order_is_command_model_port_flags_speculative() -> None:
    made = plan(KIMI)
    assert made.argv == KIMI_ARGV
    assert made.environment == {"NCCL_PROTO": "LL"}
    assert (made.port, made.profile) == (30001, "kimi")
    assert made.log == "logs/kimi-20260304-050607.log"


def test_off_leaves_every_speculative_flag_out() -> None:
    off = replace(KIMI, speculative=replace(KIMI.speculative, off=True))
    assert plan(off).argv == KIMI_ARGV[:-4]


def test_order_comes_first_and_may_spell_model_and_port() -> None:
    order = ("--enable-metrics", "--port=", "--tp", "--not-there", "--model")
    server = replace(KIMI.server, order=order)
    argv = plan(replace(KIMI, server=server)).argv
    assert argv[3:9] == (
        *("--enable-metrics", "--port=30001", "--tp-size", "8", "--model", "/models/Kimi-K2.5"),
    )
    assert sorted(argv) == sorted([*KIMI_ARGV[:3], *argv[3:9], *KIMI_ARGV[10:]])


@pytest.mark.parametrize(
    ("server", "word"),
    [
        (ServerPart(), "model"),
        (ServerPart(model="m", runner="systemd"), "unit"),
        (ServerPart(model="m", runner="docker"), "container"),
        (ServerPart(model="m", runner="command"), "command"),
    ],
)
def test_what_starts_nothing_says_what_it_lacks(server: ServerPart, word: str) -> None:
    with pytest.raises(ProfileIncomplete) as error:
        plan(Profile(name="part", server=server))
    assert "part" in error.value.what
    assert word in f"{error.value.what} {error.value.advice}"
    assert error.value.exit_status == 2


def test_the_port_of_a_flag_is_the_plans() -> None:
    assert plan(Profile(name="x", server=ServerPart(model="m"))).port == 30000
    spelt = ServerPart(model="m", flags={"port=": 4000})
    assert plan(Profile(name="x", server=spelt)).port == 4000


def test_a_reference_is_filled_in_at_the_start_and_else_left() -> None:
    server = ServerPart(model="m", flags={"api-key": "$env:KEY", "x": "$$env:KEY", "y": "$(KEY)"})
    profile = Profile(name="x", server=server, environment={"HF_TOKEN": "$env:HF_TOKEN"})
    made = plan(profile, KEY="s3cret", HF_TOKEN="hf")
    assert made.argv[5:] == ("--api-key", "s3cret", "--x", "$env:KEY", "--y", "$(KEY)")
    assert made.environment == {"HF_TOKEN": "hf"}
    shown = start_plan(profile, now=NOW)
    assert mask_start(shown.argv)[5:7] == ("--api-key", "$env:KEY")
    assert mask_start(made.argv)[5:7] == ("--api-key", "•••")
    with pytest.raises(SecretMissing, match="KEY"):
        plan(profile, HF_TOKEN="hf")


# --- and back -------------------------------------------------------------------------------------


def test_a_natural_command_line_needs_no_order() -> None:
    imported = import_server(
        KIMI_ARGV,
        name="kimi",
        environment={
            "NCCL_PROTO": "LL",
            "TMUX_PANE": "%1",
            "SLURM_JOB_ID": "7",
            "NCCL_VERSION": "2.28.3-1",
            "NVIDIA_REQUIRE_CUDA": "cuda>=13.0 brand=unknown",
        },
        log="logs/{profile}-{time}.log",
    )
    assert imported.profile == KIMI
    assert imported.left_out == (
        "NCCL_VERSION",
        "NVIDIA_REQUIRE_CUDA",
        "SLURM_JOB_ID",
        "TMUX_PANE",
    )
    assert imported.secrets == ()


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["--tp", "8"], "tp", 8),
        (["--tp=8"], "tp=", 8),
        (["--tp", "08"], "tp", "08"),
        (["--mem-fraction-static", ".9"], "mem-fraction-static", ".9"),
        (["--mem-fraction-static", "0.90"], "mem-fraction-static", "0.90"),
        (["--cuda-graph-bs", "1", "2", "4"], "cuda-graph-bs", ("1", "2", "4")),
        (["--schedule-conservativeness", "-1"], "schedule-conservativeness", -1),
        (["--chat-template", "-"], "chat-template", "-"),
        (["--tool", "true"], "tool", "true"),
        (["--served-model-name", ""], "served-model-name", ""),
        (["--json-model-override-args={\"a b\": '$(x)'}"], "json-model-override-args=", None),
        (["--x", "a\nb"], "x", "a\nb"),
        (["--x", "$env:HOME"], "x", "$$env:HOME"),
        (["--x", "a; rm -rf ~"], "x", "a; rm -rf ~"),
        (["--größe", "ü"], None, None),
    ],
)
def test_one_flag_and_back(words: list[str], key: str | None, value: object) -> None:
    argv = ("python3", "-m", "sglang.launch_server", "--model-path", "m", *words)
    imported = import_server(argv, name="x")
    assert again(imported) == argv
    if value is not None:
        assert imported.profile.server.flags == {key: value}
        assert imported.profile.server.python == "python3"


def test_repeats_prefixes_and_odd_places_come_back_in_order() -> None:
    argv = (
        *("sglang", "serve", "--speculative-algo", "EAGLE3", "--model", "m", "--tp", "2"),
        *("--lora", "a", "--port=30002", "--lora", "b", "--speculative-num-steps=3"),
    )
    imported = import_server(argv, name="x")
    server = imported.profile.server
    assert again(imported) == argv
    assert (server.model, server.port, server.command) == ("m", 30002, ("sglang", "serve"))
    assert server.flags == {"tp": 2, "lora": "a", "lora#2": "b"}
    assert imported.profile.speculative.flags == {"algo": "EAGLE3", "num-steps=": 3}


@pytest.mark.parametrize(
    "words",
    [
        ["--api-key", "s3cret-value"],
        ["--api-key=s3cret-value"],
        ["--api-k", "s3cret-value"],
        ["--admin-api-key", "s3cret-value"],
        ["--extra", '{"password": "s3cret-value"}'],
        ["--url", "http://user:s3cret-value@mirror/x"],
    ],
)
def test_a_secret_is_named_and_never_kept(words: list[str]) -> None:
    argv = ("python3", "-m", "sglang.launch_server", "--model-path", "m", *words, "--tp", "2")
    imported = import_server(
        argv, name="x", environment={"HF_TOKEN": "s3cret-hf", "NCCL_ALGO": "x"}
    )
    assert "s3cret" not in repr(imported)
    (flag, token) = imported.secrets
    assert token == Secret(where="HF_TOKEN", variable="HF_TOKEN")
    # Only what the import names has to be put back.
    hidden = next(word for word in words if "s3cret" in word)
    value = hidden.partition("=")[2] if hidden.startswith("--") else hidden
    assert again(imported, **{flag.variable: value, "HF_TOKEN": "s3cret-hf"}) == argv


def test_two_secrets_of_one_name_are_two_variables() -> None:
    argv = ("python3", "-m", "sglang.launch_server", "--api-key", "one", "--api-key", "two")
    imported = import_server(argv, name="x")
    assert [secret.variable for secret in imported.secrets] == ["API_KEY", "API_KEY_2"]


@pytest.mark.parametrize("word", ["a\ufffdb", f"a{chr(0xDC80)}b"])
def test_what_is_no_text_is_refused(word: str) -> None:
    with pytest.raises(EagletuiError, match="UTF-8"):
        import_server(["python3", word], name="x")
    with pytest.raises(EagletuiError, match="cannot be read"):
        import_server([], name="x")


NAMES = st.sampled_from(
    ["model-path", "model", "port", "tp", "tp-size", "speculative-num-steps", "speculative_algo",
     "speculative-", "cuda-graph-bs", "lora-paths", "x", "a.b", "größe", "a#2", "", "-"]
)  # fmt: skip
VALUES = st.one_of(
    st.sampled_from(["-1", "-", "--", "-x", "--x=", "8", "08", "1e-5", "0.850", "", "$(id)", "'"]),
    st.sampled_from(["$env:X", "$$env:X", "a\nb", "EAGLE3", "30000", "70000", "°", "=", "#2"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufffd"), max_size=8),
)
FLAGS = st.builds(
    lambda dashes, name, joined, values: (
        [f"{dashes}{name}={values[0]}", *values[1:]] if joined and values
        else [f"{dashes}{name}", *values]
    ),
    st.sampled_from(["--", "--", "--", "-"]),
    NAMES,
    st.booleans(),
    st.lists(VALUES, max_size=3),
)  # fmt: skip
COMMANDS = st.sampled_from(
    [["python3", "-m", "sglang.launch_server"], ["/v/bin/python", "-X", "dev", "-m", "sglang"],
     ["sglang", "serve", "stray"], ["/run me.sh"], [""]]
)  # fmt: skip


@given(COMMANDS, st.lists(FLAGS, max_size=8))
def test_any_command_line_comes_back_word_for_word(
    command: list[str], flags: list[list[str]]
) -> None:
    argv = (*command, *(word for flag in flags for word in flag))
    imported = import_server(argv, name="x")
    assume(not imported.secrets)
    assert again(imported) == argv
