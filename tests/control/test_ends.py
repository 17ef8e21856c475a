"""How a server ended, in words, where its log does not say."""

from __future__ import annotations

from typing import Any

import pytest

from eagletui.control.ends import died

SILENT = "The server's process (pid 7) is gone, and its log does not say why"


def told(by: str, result: str, status: int | None) -> dict[str, Any]:
    return {"by": by, "result": result, "status": status}


@pytest.mark.parametrize(
    ("ended", "code", "words"),
    [
        (told("systemd", "oom-kill", 9), "host-out-of-memory",
         ": the host's out-of-memory killer ended it."),
        (told("systemd", "exit-code", 203), "process-died",
         ": it ended with status 203 (its program cannot be run)."),
        (told("docker", "exit-code", 203), "process-died", ": it ended with status 203."),
        (told("docker", "exit-code", 127), "process-died",
         ": it ended with status 127 (its program is not there)."),
        (told("systemd", "exit-code", 127), "process-died", ": it ended with status 127."),
        (told("systemd", "signal", 9), "process-died", ": signal 9 ended it."),
        (told("systemd", "core-dump", 11), "process-died", ": it crashed by signal 11."),
        (told("systemd", "start-limit-hit", 0), "process-died",
         ": it failed so often that systemd starts it no more."),
        (told("systemd", "success", None), "process-died", ": it ended by itself, with status 0."),
        (told("systemd", "a result of tomorrow", 1), "process-died", "."),
        ({}, "process-died", "."),
    ],
)  # fmt: skip
def test_an_end_is_told_in_words(ended: dict[str, Any], code: str, words: str) -> None:
    found = died(7, ended)
    assert (found.code, found.title) == (code, SILENT + words)
    assert found.advice
    assert died(None, ended).title == found.title.replace(" (pid 7)", "")
