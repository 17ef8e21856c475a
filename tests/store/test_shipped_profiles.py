"""What ships with eagletui: every file is whole, starts something, and says why it is so."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from eagletui.engine.flagwords import same_flag
from eagletui.engine.start_plan import start_plan
from eagletui.model.profile import StartPlan
from eagletui.store.places import shipped_profiles_folder
from eagletui.store.profiles.file import GUARD, SERVER, read_profile
from eagletui.store.profiles.shelf import Profiles

NOW = datetime(2026, 3, 4, tzinfo=timezone.utc)
PROFILES = Profiles((shipped_profiles_folder(),), same_flag)
NAMES = PROFILES.names()
KIMI = "kimi-k2.5"
KEYS = {"server": SERVER, "guard": GUARD}


def plan(*names: str) -> StartPlan:
    return start_plan(PROFILES.load(*names), now=NOW)


def values(argv: tuple[str, ...], *flags: str) -> tuple[str | None, ...]:
    return tuple(argv[argv.index(flag) + 1] if flag in argv else None for flag in flags)


SPECULATIVE = (
    "--speculative-algorithm", "--speculative-num-steps", "--speculative-eagle-topk",
    "--speculative-num-draft-tokens",
)  # fmt: skip


def test_nothing_that_ships_is_broken() -> None:
    shelf = PROFILES.shelf()
    assert shelf.problems == ()
    assert {row.profile.name for row in shelf.profiles} == set(NAMES)
    assert {row.profile.name for row in shelf.profiles if row.parts == ("speculative",)} == {
        "speculation-off",
        *(f"chain-{k}" for k in (1, 2, 3, 5, 7)),
        "tree-3-2-8",
        "tree-5-4-8",
    }
    assert {"pcie-ll-ring", "p2p-off-many-channels", "nvlink-default", KIMI} <= set(NAMES)
    for row in shelf.profiles:
        assert row.profile.title
        assert row.profile.note


@pytest.mark.parametrize("name", NAMES)
def test_each_makes_a_start_over_the_example(name: str) -> None:
    made = plan(KIMI, name)
    assert made.argv[:3] == ("python3", "-m", "sglang.launch_server")
    assert values(made.argv, "--model-path", "--tp-size") == ("/models/Kimi-K2.5", "8")


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith(("chain-", "tree-"))])
def test_speculative_presets_are_what_they_are_called_and_valid(name: str) -> None:
    algorithm, *numbers = values(plan(KIMI, name).argv, *SPECULATIVE)
    steps, topk, tokens = (int(number or 0) for number in numbers)
    assert algorithm == "EAGLE3"
    if name.startswith("chain-"):
        assert (topk, tokens, f"chain-{steps}") == (1, steps + 1, name)
    else:
        assert f"tree-{steps}-{topk}-{tokens}" == name
        assert topk > 1
        assert steps < tokens <= 1 + topk + (steps - 1) * topk**2


def test_off_is_off_and_the_draft_is_gone() -> None:
    assert not [word for word in plan(KIMI, "speculation-off").argv if "speculative" in word]


def test_nccl_parts_leave_nothing_of_each_other_behind() -> None:
    base = plan(KIMI).environment
    assert {k: v for k, v in base.items() if k.startswith("NCCL_")} == {
        "NCCL_PROTO": "LL",
        "NCCL_ALGO": "Ring",
        "NCCL_P2P_LEVEL": "SYS",
        "NCCL_DEBUG": "WARN",
    }
    clean = plan(KIMI, "nvlink-default").environment
    assert clean == {"SGLANG_ENABLE_METRICS_DEVICE_TIMER": "1"}
    many = plan(KIMI, "nvlink-default", "p2p-off-many-channels").environment
    assert many == {
        **clean,
        "NCCL_P2P_DISABLE": "1",
        "NCCL_MIN_NCHANNELS": "16",
        "NCCL_MAX_NCHANNELS": "32",
        "NCCL_BUFFSIZE": "33554432",
    }
    assert "NCCL_P2P_LEVEL" not in plan(KIMI, "p2p-off").environment
    back = plan(KIMI, "p2p-off", "pcie-ll-ring").environment
    assert "NCCL_P2P_DISABLE" not in back


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith(("pcie", "p2p", "nvlink"))])
def test_an_nccl_part_says_why_whence_and_when_it_does_nothing(name: str) -> None:
    note = PROFILES.load(name).note
    for word in ("Why: ", "Source: ", "Does nothing "):
        assert word in note


def test_the_format_in_the_docs_is_one() -> None:
    text = (shipped_profiles_folder().parent / "docs" / "profiles.md").read_text(encoding="utf-8")
    block = text.split("```toml\n")[1].split("```")[0]
    file = read_profile(block, name="docs", path="docs")
    assert (file.extends, file.include) == ("base", ("chain-2", "pcie-ll-ring"))
    assert set(file.lines) >= {(table, key) for table in ("server", "guard") for key in KEYS[table]}
    assert file.flags["cuda-graph-bs"] == ("1", "2", "4")


def test_the_readme_names_every_one() -> None:
    text = (shipped_profiles_folder() / "README.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"`{name}`" not in text] == []
