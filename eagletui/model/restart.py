"""A restart as a machine of states: pure, so that it can be watched, cancelled and resumed.

`step(standing, happened)` gives the next standing and what is to be done on the host for it. What
each state means, what ends it and what may be cancelled in it is one row of `RULES`. Roll-back
happens at most once: what was put back and fails too is a failure.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec.structs import replace

from eagletui.model.base import Data
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.profile import RollBack

RestartState = Literal[
    "checking",
    "saving",
    "draining",
    "aborting",
    "stopping",
    "killing",
    "waiting-gone",
    "starting",
    "loading",
    "first-token",
    "settling",
    "asking",
    "rolling-back",
    "ready",
    "rolled-back",
    "stopped",
    "failed",
    "cancelled",
]
FINAL: frozenset[RestartState] = frozenset(
    ("ready", "rolled-back", "stopped", "failed", "cancelled")
)

Goal = Literal["launch", "stop"]
"""`launch` ends with a server that serves (what ran on its port before is replaced)."""

Action = Literal[
    "check", "save", "drain", "abort", "terminate", "kill", "await-gone", "start", "follow",
    "generate", "settle", "ask", "clear", "release",
]  # fmt: skip
"""What is to be done on the host; `release` gives the lock back."""

Kind = Literal["done", "failed", "late", "cancel", "yes", "no"]


class Happened(Data, frozen=True):
    """Something that moves the machine.

    Attributes:
        kind: `done`, `failed` or `late` (past its limit) of the state's own work; `cancel` by the
            person; `yes` and `no` answer the question of `asking`.
        problem: why, for `failed` and `late`.
    """

    kind: Kind
    problem: Diagnosis | None = None


class Standing(Data, frozen=True):
    """Where a restart stands; this is what is written down on the host.

    Attributes:
        replaces: whether a server runs that has to go first.
        roll_back: the guard's word on putting it back.
        old_gone: whether what ran before was told to go; from here on there is no simple way back.
        started: whether something new was started and not yet cleared away.
        rolling_back: whether what is started now is what ran before.
        cancelled: whether the person wants it undone.
        problem: what went wrong first; of a failed roll-back see `second`.
    """

    state: RestartState = "checking"
    goal: Goal = "launch"
    replaces: bool = False
    roll_back: RollBack = "ask"
    old_gone: bool = False
    started: bool = False
    rolling_back: bool = False
    cancelled: bool = False
    problem: Diagnosis | None = None
    second: Diagnosis | None = None

    @property
    def final(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in FINAL

    @property
    def title(self) -> str:
        """The state in plain words."""
        words = RULES[self.state].title
        if self.rolling_back and self.state not in FINAL and self.state != "rolling-back":
            return f"putting back what ran before: {words}"
        return words

    @property
    def on_cancel(self) -> str:
        """What a cancel would do now, in plain words; "" where it does nothing."""
        if self.cancelled or self.rolling_back:
            return ""
        return RULES[self.state].cancel


class Rule(NamedTuple):
    """One state.

    Attributes:
        title: in plain words.
        action: what is done in it.
        done: the state that follows its work.
        failed, late: the state that follows when its work fails or takes too long; "" goes to
            roll-back, by the guard.
        cancel: what a cancel does in it, in plain words; "" where there is nothing to cancel.
    """

    title: str
    action: Action
    done: RestartState = "failed"
    failed: RestartState | Literal[""] = "failed"
    late: RestartState | Literal[""] = "failed"
    cancel: str = ""


_UNTOUCHED = "stops here; nothing was changed"
_BACK = "goes on until the old server is gone, then puts it back"
_CLEAR = "ends what was started, then puts back what ran before"

RULES: dict[RestartState, Rule] = {
    "checking": Rule("checking the profile and the host", "check", "saving", cancel=_UNTOUCHED),
    "saving": Rule("saving what runs, taking the lock", "save", "draining", cancel=_UNTOUCHED),
    # A server that answers no HTTP has no requests worth waiting for.
    "draining": Rule(
        "letting requests finish", "drain", "stopping", "stopping", "aborting", _UNTOUCHED
    ),
    "aborting": Rule(
        "aborting the requests that are left",
        "abort",
        "stopping",
        "stopping",
        "stopping",
        "stops here; requests were aborted, the server goes on",
    ),
    "stopping": Rule(
        "asking the server to stop", "terminate", "waiting-gone", "failed", "killing", _BACK
    ),
    "killing": Rule("killing what is left of the server", "kill", "waiting-gone", cancel=_BACK),
    "waiting-gone": Rule(
        "waiting until processes, port and GPU memory are free",
        "await-gone",
        "starting",
        cancel=_BACK,
    ),
    "starting": Rule("starting the server", "start", "loading", "", "", _CLEAR),
    "loading": Rule("loading", "follow", "first-token", "", "", _CLEAR),
    "first-token": Rule("asking for a first token", "generate", "settling", "", "", _CLEAR),
    "settling": Rule("serving; watched for its first minute", "settle", "ready", "", "", _CLEAR),
    "asking": Rule("asking whether to put back what ran before", "ask", "rolling-back"),
    "rolling-back": Rule("clearing away what was started", "clear", "starting"),
    "ready": Rule("ready", "release"),
    "rolled-back": Rule("what ran before is back", "release"),
    "stopped": Rule("stopped", "release"),
    "failed": Rule("failed", "release"),
    "cancelled": Rule("cancelled", "release"),
}

_NOTHING: tuple[Action, ...] = ()
_BEFORE_STOP: frozenset[RestartState] = frozenset(("checking", "saving", "draining", "aborting"))
_WHILE_STOPPING: frozenset[RestartState] = frozenset(("stopping", "killing", "waiting-gone"))


def begin(
    *, goal: Goal = "launch", replaces: bool, roll_back: RollBack = "ask"
) -> tuple[Standing, tuple[Action, ...]]:
    """A restart that has not yet done anything."""
    return Standing(goal=goal, replaces=replaces, roll_back=roll_back), ("check",)


def step(standing: Standing, happened: Happened) -> tuple[Standing, tuple[Action, ...]]:
    """What follows; an event that means nothing in this state changes nothing."""
    if standing.final:
        return standing, _NOTHING
    rule = RULES[standing.state]
    if happened.kind in ("yes", "no"):
        if standing.state != "asking":
            return standing, _NOTHING
        return _clear(standing) if happened.kind == "yes" else _give_up(standing)
    if happened.kind == "cancel":
        return _cancel(standing)
    if standing.state == "asking":
        # Nobody can be asked: where things stand stays as it is.
        return _give_up(standing)
    if happened.kind == "done":
        return _done(standing, rule)
    standing = _with_problem(standing, happened.problem)
    if standing.state == "stopping" and happened.kind == "failed":
        standing = replace(standing, old_gone=False)  # it was refused: nothing was sent
    target = rule.failed if happened.kind == "failed" else rule.late
    if target == "":
        return _after_failure(standing)
    return _enter(standing, target)


def _done(standing: Standing, rule: Rule) -> tuple[Standing, tuple[Action, ...]]:
    state = standing.state
    if state == "saving" and not standing.replaces:
        return _enter(standing, "stopped" if standing.goal == "stop" else "starting")
    if state == "waiting-gone":
        if standing.cancelled:
            return _after_failure(standing)
        if standing.goal == "stop":
            return _enter(standing, "stopped")
    if state == "rolling-back":
        standing = replace(standing, started=False)
        if not _may_put_back(standing):
            return _enter(standing, _end_of(standing))
        return _enter(replace(standing, rolling_back=True), "starting")
    if state == "settling" and standing.rolling_back:
        return _enter(standing, "rolled-back")
    return _enter(standing, rule.done)


def _cancel(standing: Standing) -> tuple[Standing, tuple[Action, ...]]:
    if standing.cancelled or standing.rolling_back or standing.state == "rolling-back":
        return standing, _NOTHING
    if standing.state in _BEFORE_STOP:
        return _enter(replace(standing, cancelled=True), "cancelled")
    standing = replace(standing, cancelled=True)
    if standing.state in _WHILE_STOPPING:
        return standing, _NOTHING
    if standing.state == "asking":
        return _give_up(standing)
    return _after_failure(standing)


def _after_failure(standing: Standing) -> tuple[Standing, tuple[Action, ...]]:
    """A launch failed or is no longer wanted: put back, ask, or leave it, by the guard."""
    if standing.rolling_back:
        return _enter(standing, "failed")
    if _may_put_back(standing):
        if standing.roll_back == "ask":
            return _enter(standing, "asking")
        return _clear(standing)
    if standing.cancelled and standing.started:
        return _clear(standing)
    return _enter(standing, _end_of(standing))


def _clear(standing: Standing) -> tuple[Standing, tuple[Action, ...]]:
    return _enter(standing, "rolling-back")


def _give_up(standing: Standing) -> tuple[Standing, tuple[Action, ...]]:
    if standing.cancelled and standing.started:
        # What is no longer wanted goes, and nothing comes back.
        return _enter(replace(standing, roll_back="never"), "rolling-back")
    return _enter(standing, _end_of(standing))


def _may_put_back(standing: Standing) -> bool:
    return standing.replaces and standing.old_gone and standing.roll_back != "never"


def _end_of(standing: Standing) -> RestartState:
    return "cancelled" if standing.cancelled and standing.problem is None else "failed"


def _with_problem(standing: Standing, problem: Diagnosis | None) -> Standing:
    if standing.rolling_back:
        return replace(standing, second=standing.second or problem)
    # That requests could not be counted or aborted stops nothing.
    if standing.state in ("draining", "aborting"):
        return standing
    if standing.state == "stopping":
        return replace(standing, problem=problem) if problem is not None else standing
    return replace(standing, problem=standing.problem or problem)


def _enter(standing: Standing, state: RestartState) -> tuple[Standing, tuple[Action, ...]]:
    standing = replace(
        standing,
        state=state,
        old_gone=standing.old_gone or state == "stopping",
        started=standing.started or state == "starting",
    )
    return standing, (RULES[state].action,)


def account(standing: Standing) -> str:
    """Where things stand at the end, for the person: what runs now, what does not, then why.

    Where they stand comes first: a narrow screen cuts the rest.
    """
    why = standing.problem.title if standing.problem is not None else ""
    if standing.state == "ready":
        return "The new server serves."
    if standing.state == "stopped":
        return "The server is stopped; its port and its GPU memory are free."
    if not standing.final:
        return f"Not at its end: {standing.title}."
    words = [_stands(standing), why]
    if standing.state == "failed" and standing.rolling_back and standing.second is not None:
        words.append(standing.second.title)
    return " ".join(text for text in words if text)


def _stands(standing: Standing) -> str:
    if standing.state == "rolled-back":
        return "What ran before is back and serves."
    if standing.rolling_back:
        return "Nothing serves: what ran before was started again and does not serve either."
    if not standing.old_gone:
        if standing.replaces:
            return "The old server was not touched."
        if standing.started:
            return "What was started may still be there."
        return "Nothing that was to be started runs."
    if standing.started:
        return "The old server is stopped. What was started does not serve."
    if standing.cancelled:
        return "The old server is stopped, and nothing was started in its place."
    return "The old server was told to stop; nothing was started in its place."
