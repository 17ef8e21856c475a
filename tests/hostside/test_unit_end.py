"""What systemd says of the end of one start of a unit, among others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eagletui.hostside.agent import unit_end
from eagletui.hostside.agent.tools import Done
from eagletui.hostside.agent.unit_end import EXITED, FAILED, SUCCEEDED, told
from eagletui.hostside.agent.units import Unit

UNIT = Unit("llm.service", False)
SERVER = {"pid": 77, "began": "5000", "invocation": "cafe"}
CRASHED = {"Result": "exit-code", "ExecMainStatus": "3", "MainPID": "0", "ExecMainPID": "77",
           "ExecMainStartTimestampMonotonic": "5000"}  # fmt: skip
AGAIN = {"Result": "success", "ExecMainStatus": "0"}
THREE = {"by": "systemd", "result": "exit-code", "status": 3}


def exited(status: int, what: str = "Main") -> dict[str, str]:
    message = f"llm.service: {what} process exited, code=exited, status={status}/X"
    return {"MESSAGE_ID": EXITED, "EXIT_STATUS": str(status), "MESSAGE": message}


def failed(result: str) -> dict[str, str]:
    return {"MESSAGE_ID": FAILED, "UNIT_RESULT": result}


@pytest.mark.parametrize(
    ("shows", "server", "end"),
    [
        ([CRASHED], SERVER, THREE),
        ([{**CRASHED, "MainPID": "77", **AGAIN}, CRASHED], SERVER, THREE),  # not yet heard of
        ([{**CRASHED, **AGAIN, "MainPID": "78", "ExecMainPID": "78"}], SERVER, {}),
        ([{**CRASHED, **AGAIN, "MainPID": "78"}], {"pid": 77}, {}),  # of an older eagletui
        ([{**CRASHED, "ExecMainPID": "78"}], SERVER, {}),  # the next one has ended, too
        ([{**CRASHED, "ExecMainStartTimestampMonotonic": "5001"}], SERVER, {}),
    ],
)
def test_only_the_end_of_this_start_is_told(
    monkeypatch: pytest.MonkeyPatch, shows: list[dict[str, str]], server: Any, end: Any
) -> None:
    left = iter(shows)
    monkeypatch.setattr(Unit, "show", lambda _: next(left))
    monkeypatch.setattr(unit_end, "run", lambda *_, **__: Done(1, "", "no journal"))
    assert unit_end.ended(UNIT, server) == end
    assert not list(left)


@pytest.mark.parametrize("user", [False, True])
def test_the_journal_knows_the_start_before(monkeypatch: pytest.MonkeyPatch, user: bool) -> None:
    asked: list[list[str]] = []

    def run(argv: list[str], **_: object) -> Done:
        asked.append(argv)
        return Done(0, "\n".join(map(json.dumps, [exited(3), failed("exit-code")])), "")

    monkeypatch.setattr(Unit, "show", lambda _: {**CRASHED, **AGAIN, "MainPID": "78"})
    monkeypatch.setattr(unit_end, "run", run)
    assert unit_end.ended(UNIT._replace(user=user), SERVER) == THREE
    assert asked[0][4] == ("USER_INVOCATION_ID=cafe" if user else "INVOCATION_ID=cafe")


@pytest.mark.parametrize(
    ("entries", "result", "status"),
    [
        ([exited(9), failed("oom-kill")], "oom-kill", 9),
        ([exited(1, "Control"), exited(2), exited(3, "Control"), failed("signal")], "signal", 2),
        ([failed("timeout")], "timeout", None),
        ([{"MESSAGE_ID": SUCCEEDED}], "success", 0),
    ],
)
def test_an_end_as_the_journal_has_it(
    entries: list[dict[str, str]], result: str, status: int | None
) -> None:
    said = "\n".join(["no JSON", *map(json.dumps, entries)])
    assert told(said) == {"by": "systemd", "result": result, "status": status}


@pytest.mark.parametrize("said", ["", "{}", "[]", "null", "no JSON", json.dumps(exited(3))])
def test_a_journal_that_has_no_end_tells_none(said: str) -> None:
    assert told(said) == {}
