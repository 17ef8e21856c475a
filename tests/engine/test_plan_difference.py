from __future__ import annotations

from msgspec.structs import replace

from eagletui.engine.plan_difference import difference
from eagletui.model.profile import StartPlan
from eagletui.model.switching import Change

OLD = StartPlan(
    argv=(
        *("python3", "-m", "sglang.launch_server", "--model-path", "m", "--tp", "8"),
        *("--api-key", "s3cret-one", "--disable-radix-cache", "--cuda-graph-bs", "1", "2"),
    ),
    environment={"NCCL_PROTO": "LL", "SAME": "1", "HF_TOKEN": "s3cret-two"},
    log="a.log",
)


def test_nothing_differs_from_itself_or_from_another_spelling() -> None:
    assert difference(OLD, OLD) == ()
    argv = tuple("--tensor-parallel-size" if word == "--tp" else word for word in OLD.argv)
    assert difference(OLD, replace(OLD, argv=argv)) == ()


def test_every_difference_is_told_and_no_secret() -> None:
    new = StartPlan(
        argv=(
            *("/v/python", "-m", "sglang.launch_server", "--model-path", "m", "--tp-size=4"),
            *("--api-key", "s3cret-three", "--cuda-graph-bs", "1", "--x", ""),
        ),
        environment={"NCCL_ALGO": "Ring", "SAME": "1", "HF_TOKEN": "$env:HF_TOKEN"},
        log="b.log",
    )
    changes = difference(OLD, new)
    assert changes == (
        Change(
            where="command",
            name="command",
            before="python3 -m sglang.launch_server",
            after="/v/python -m sglang.launch_server",
        ),
        Change(where="flag", name="--tp-size", before="8", after="4"),
        Change(where="flag", name="--api-key", before="•••", after="•••"),
        Change(where="flag", name="--disable-radix-cache", before="", after=None),
        Change(where="flag", name="--cuda-graph-bs", before="1 2", after="1"),
        Change(where="flag", name="--x", before=None, after=""),
        Change(where="environment", name="HF_TOKEN", before="•••", after="$env:HF_TOKEN"),
        Change(where="environment", name="NCCL_ALGO", before=None, after="Ring"),
        Change(where="environment", name="NCCL_PROTO", before="LL", after=None),
        Change(where="plan", name="log", before="a.log", after="b.log"),
    )
    assert "s3cret" not in repr(changes)
