"""The restart's machine: every path ends in a named state, and nothing goes round in circles."""

from __future__ import annotations

from typing import cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.model.diagnosis import Diagnosis
from eagletui.model.profile import RollBack
from eagletui.model.restart import (
    FINAL,
    RULES,
    Goal,
    Happened,
    Kind,
    RestartState,
    Standing,
    account,
    begin,
    step,
)

OOM = Diagnosis(code="out-of-memory", severity="fatal", title="The GPU is full.")
DEAD = Diagnosis(code="process-died", severity="fatal", title="It died.")

KINDS = st.sampled_from(get_args(Kind))
EVENTS = st.lists(st.builds(Happened, kind=KINDS, problem=st.sampled_from([None, OOM, DEAD])))


def walk(standing: Standing, *kinds: str, problem: Diagnosis | None = OOM) -> Standing:
    for kind in kinds:
        why = problem if kind in ("failed", "late") else None
        standing, _ = step(standing, Happened(kind=cast(Kind, kind), problem=why))
    return standing


def path(standing: Standing, *kinds: str) -> list[str]:
    states: list[str] = []
    for kind in kinds:
        standing = walk(standing, kind)
        states.append(standing.state)
    return states


def start(
    *, goal: Goal = "launch", replaces: bool = True, roll_back: RollBack = "always"
) -> Standing:
    return begin(goal=goal, replaces=replaces, roll_back=roll_back)[0]


def test_every_state_has_a_rule_and_a_title() -> None:
    assert set(RULES) == set(get_args(RestartState))
    assert all(rule.title for rule in RULES.values())
    assert {state for state, rule in RULES.items() if rule.action == "release"} == FINAL


def test_the_straight_way() -> None:
    assert path(start(), *["done"] * 9) == [
        "saving", "draining", "stopping", "waiting-gone", "starting", "loading", "first-token",
        "settling", "ready",
    ]  # fmt: skip


def test_a_host_where_nothing_runs_has_nothing_to_stop() -> None:
    assert path(start(replaces=False), *["done"] * 4) == [
        "saving", "starting", "loading", "first-token",
    ]  # fmt: skip


def test_stop_ends_when_everything_is_gone() -> None:
    assert path(start(goal="stop"), *["done"] * 5)[-1] == "stopped"
    assert path(start(goal="stop", replaces=False), "done", "done")[-1] == "stopped"


def test_requests_that_do_not_end_are_aborted_and_a_server_that_does_not_stop_is_killed() -> None:
    assert path(start(), "done", "done", "late", "done", "late", "done") == [
        "saving", "draining", "aborting", "stopping", "killing", "waiting-gone",
    ]  # fmt: skip


@pytest.mark.parametrize("steps", [5, 6, 7, 8])
def test_what_fails_after_the_stop_is_rolled_back_once(steps: int) -> None:
    failed = walk(start(), *["done"] * steps, "failed")
    assert failed.state == "rolling-back"
    assert not failed.rolling_back
    back = walk(failed, *["done"] * 5)
    assert back.state == "rolled-back"
    assert back.problem == OOM
    assert account(back) == "What ran before is back and serves. The GPU is full."
    worse = walk(walk(failed, "done", "done"), "failed", problem=DEAD)
    assert worse.state == "failed"
    assert (worse.problem, worse.second) == (OOM, DEAD)
    assert account(worse) == (
        "Nothing serves: what ran before was started again and does not serve either. "
        "The GPU is full. It died."
    )


def test_the_guard_may_ask_or_forbid() -> None:
    asking = walk(start(roll_back="ask"), *["done"] * 6, "failed")
    assert asking.state == "asking"
    assert walk(asking, "yes").state == "rolling-back"
    refused = walk(asking, "no")
    assert refused.state == "failed"
    assert account(refused) == (
        "The old server is stopped. What was started does not serve. The GPU is full."
    )
    assert walk(start(roll_back="never"), *["done"] * 6, "failed").state == "failed"


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_cancelled_before_the_stop_changes_nothing(steps: int) -> None:
    cancelled = walk(start(), *["done"] * steps, "cancel")
    assert cancelled.state == "cancelled"
    assert account(cancelled) == "The old server was not touched."


@pytest.mark.parametrize("steps", [3, 4])
def test_cancelled_while_the_old_one_stops_waits_until_it_is_gone(steps: int) -> None:
    cancelled = walk(start(), *["done"] * steps, "cancel")
    assert cancelled.state in ("stopping", "waiting-gone")
    assert cancelled.cancelled
    assert cancelled.on_cancel == ""
    gone = walk(cancelled, *["done"] * (5 - steps))
    assert gone.state == "rolling-back"
    assert walk(gone, *["done"] * 5).state == "rolled-back"


@pytest.mark.parametrize("steps", [5, 6, 7, 8])
def test_cancelled_while_the_new_one_starts_puts_the_old_one_back(steps: int) -> None:
    assert walk(start(), *["done"] * steps, "cancel").state == "rolling-back"
    alone = walk(start(replaces=False), *["done"] * (steps - 3), "cancel")
    assert alone.state == "rolling-back"
    assert walk(alone, "done").state == "cancelled"
    never = walk(start(roll_back="never"), *["done"] * steps, "cancel", "done")
    assert never.state == "cancelled"
    asked = walk(start(roll_back="ask"), *["done"] * steps, "cancel", "no", "done")
    assert asked.state == "cancelled"
    assert account(asked) == "The old server is stopped, and nothing was started in its place."


@given(
    EVENTS,
    st.sampled_from(get_args(Goal)),
    st.booleans(),
    st.sampled_from(get_args(RollBack)),
)
def test_any_events_lead_to_a_named_state_and_never_round_in_circles(
    events: list[Happened], goal: Goal, replaces: bool, roll_back: RollBack
) -> None:
    standing, actions = begin(goal=goal, replaces=replaces, roll_back=roll_back)
    moves, starts = 0, 0
    for event in events:
        before = standing
        standing, actions = step(standing, event)
        assert standing.state in RULES
        if standing.state != before.state:
            moves += 1
            assert actions == (RULES[standing.state].action,)
            starts += standing.state == "starting"
        else:
            assert actions == ()
        if before.final:
            assert standing == before
        if standing.rolling_back:
            assert replaces
            assert roll_back != "never"
            assert standing.old_gone
    assert starts <= 2
    assert moves <= 17
    assert account(standing)
    if goal == "stop" and not any(event.kind == "cancel" for event in events):
        assert starts == 0


@given(EVENTS, st.booleans(), st.sampled_from(get_args(RollBack)))
def test_it_always_ends_when_every_work_ends(
    events: list[Happened], replaces: bool, roll_back: RollBack
) -> None:
    standing = start(replaces=replaces, roll_back=roll_back)
    for event in events:
        standing, _ = step(standing, event)
    for _ in range(20):
        standing = walk(standing, "failed")
    assert standing.final
    assert account(standing)
    if standing.state == "failed" and not standing.old_gone and replaces:
        assert "not touched" in account(standing)
