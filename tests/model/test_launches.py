from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.model.launches import Earlier, earlier, left, started

P = 30000
HAND = 5
"""The process that somebody started by hand."""


def process(pid: int) -> dict[str, int]:
    return {"pid": pid, "start": pid * 10}


def record(
    number: int,
    state: str = "ready",
    *,
    old: int | None = None,
    new: int | None = None,
    back: int | None = None,
    port: int = P,
    ended: bool = True,
    **more: Any,
) -> dict[str, Any]:
    """The launch of this number, which began at number × 100 and ended 50 s later."""
    processes = {"old": old, "new": new, "back": back}
    return {
        "id": f"L{number}",
        "profile": f"p{number}",
        "port": port,
        "began": number * 100.0,
        "standing": {"state": state, "started": new is not None, "old_gone": old is not None},
        **({"ended": number * 100.0 + 50} if ended else {}),
        **{which: process(pid) for which, pid in processes.items() if pid is not None},
        **more,
    }


def plan(number: int) -> Earlier:
    return Earlier(f"L{number}", "plan", f"p{number}", number * 100.0 + 50)


BY_HAND = record(1, old=HAND, new=11)
SECOND = record(2, old=11, new=12)
FAILED = record(3, "rolled-back", old=12, new=13, back=14)
AGAIN = record(4, old=14, new=15, again=True)
# What runs → the launches, oldest first → what is gone back to.
CASES = {
    "nothing was ever launched": (HAND, [], None),
    "by hand, before one of ours": (11, [BY_HAND], Earlier("L1", "before", "", 100.0)),
    "ours, before one of ours": (12, [BY_HAND, SECOND], plan(1)),
    "what failed is skipped": (12, [BY_HAND, record(7, "failed", new=9), SECOND], plan(1)),
    "what was put back is no step": (14, [BY_HAND, SECOND, FAILED], plan(1)),
    "nor is a plain restart": (15, [BY_HAND, SECOND, FAILED, AGAIN], plan(1)),
    "by hand now, ours before": (99, [BY_HAND, SECOND], plan(2)),
    "nothing runs": (None, [BY_HAND, SECOND], plan(2)),
    "by hand in between": (
        13,
        [BY_HAND, record(2, old=77, new=13)],
        Earlier("L2", "before", "", 200.0),
    ),
    "back again": (16, [BY_HAND, SECOND, record(3, old=12, new=16)], plan(2)),
    "a clock that was set back": (12, [SECOND, BY_HAND], plan(1)),
    "of another port": (99, [record(1, new=11, port=1)], None),
    "left while it loaded": (99, [BY_HAND, record(2, "loading", new=12, ended=False)], plan(1)),
    "a plain restart is started whole": (
        99,
        [record(4, old=5, new=15, again=True)],
        Earlier("L4", "before", "p4", 450.0),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_gone_back_to(case: str) -> None:
    pid, launches, expected = CASES[case]
    present = (pid, pid * 10) if pid is not None else None
    assert earlier(launches[::-1], P, present) == expected


def test_a_pid_that_is_used_again_is_another_process() -> None:
    assert earlier([SECOND, BY_HAND], P, (12, 7)) == plan(2)


@pytest.mark.parametrize(
    ("pid", "profile"), [(11, "p1"), (12, "p2"), (HAND, ""), (14, ""), (99, "")]
)
def test_the_profile_of_a_process_is_that_of_the_launch_that_started_it(
    pid: int, profile: str
) -> None:
    records = [FAILED, SECOND, BY_HAND]
    assert started(records, (pid, pid * 10)).profile == profile
    # The same number after a reboot is another process.
    assert started(records, (pid, pid * 10 + 1)) == ("", None)


def test_what_was_left_is_offered_until_a_later_launch_replaced_it() -> None:
    loading = record(2, "loading", new=12, ended=False)
    assert left([loading, BY_HAND]) == [loading]
    assert left([record(3, old=12, new=13), loading, BY_HAND]) == []
    refused = record(3, "failed")
    assert left([refused, loading]) == [loading], "it never touched the server"
    elsewhere = record(3, new=13, port=1)
    assert left([elsewhere, loading]) == [loading]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
KEYS = st.sampled_from(["id", "port", "standing", "new", "old", "back", "again", "ended", "began"])


@given(st.lists(st.dictionaries(KEYS, JSON)))
def test_whatever_a_host_says(records: list[dict[str, Any]]) -> None:
    earlier(records, P, (1, 2))
    left(records)
