"""Questions on a terminal, while the event loop has something else to do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import sys
import termios
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from unittest import mock

import click
import pytest

from eagletui.cli.asking import TerminalAsker, yes_or_no
from eagletui.cli.controlling import confirm
from eagletui.model.ask import HostKeyQuestion, SecretQuestion
from eagletui.model.errors import UsageError
from eagletui.model.permission import Permission

KEY = HostKeyQuestion(
    host="gpu1", address="10.0.0.1:22", key_type="ssh-ed25519", fingerprint="SHA256:x", file="known"
)


@contextlib.contextmanager
def a_terminal() -> Iterator[int]:
    """This process's own; given is the person's end of it."""
    ours, terminal = pty.openpty()
    with (
        os.fdopen(os.dup(terminal), "r") as stdin,
        os.fdopen(terminal, "w") as stderr,
        mock.patch.multiple(sys, stdin=stdin, stderr=stderr),
    ):
        yield ours
    os.close(ours)


def secret(echo: bool = False) -> Callable[[], Awaitable[Any]]:
    question = SecretQuestion(host="gpu1", subject="Password of ann@gpu1", echo=echo)
    return lambda: TerminalAsker().secret(question)


def sure(name: str = "") -> Callable[[], Awaitable[Any]]:
    return lambda: confirm(["start x"], yes=False, needs=Permission(name=name))


QUESTIONS: list[tuple[Callable[[], Awaitable[Any]], str, str, Any]] = [
    (lambda: yes_or_no("Put it back?", default=True), "what?\n\n", "Put it back? [Y/n]: ", True),
    (lambda: yes_or_no("Put it back?", default=True), "n\n", "Put it back? [Y/n]: ", False),
    (sure(), "y\n", "Do it? [y/N]: ", None),
    (sure(), "\n", "Do it? [y/N]: ", UsageError),
    (sure(), "\x04", "Do it? [y/N]: ", click.Abort),
    (sure("gpu1"), "gpu1\n", "gpu1 is protected; type its name: ", None),
    (sure("gpu1"), "y\n", "gpu1 is protected; type its name: ", UsageError),
    (lambda: TerminalAsker().host_key(KEY), "yes\n", "Trust it and write it to known? ", True),
    (lambda: TerminalAsker().host_key(KEY), "\n", "Trust it and write it to known? ", False),
    (lambda: TerminalAsker().host_key(KEY), "\x04", "Trust it and write it to known? ", False),
    (secret(), " pa ss \n", "Password of ann@gpu1: ", " pa ss "),
    (secret(), "\n", "Password of ann@gpu1: ", ""),
    (secret(), "\x04", "Password of ann@gpu1: ", None),
    (secret(echo=True), "123456\n", "Password of ann@gpu1: ", "123456"),
]


@pytest.mark.parametrize(("ask", "typed", "shown", "answer"), QUESTIONS)
async def test_a_question_holds_nothing_up(
    ask: Callable[[], Awaitable[Any]], typed: str, shown: str, answer: Any
) -> None:
    """Once the loop stood still until the answer: a host that hears nothing ends the connection."""
    with a_terminal() as person:
        asking = asyncio.ensure_future(ask())
        for _ in range(20):  # so often the loop comes round while nobody has answered
            await asyncio.sleep(0.001)
        assert not asking.done()
        assert shown in os.read(person, 4096).decode()
        os.write(person, typed.encode())
        if isinstance(answer, type):
            with pytest.raises(answer):
                await asking
        else:
            assert await asyncio.wait_for(asking, 10.0) == answer


@pytest.mark.parametrize("ending", ["\n", "\x04", "cancelled"])
async def test_a_password_is_not_shown_and_all_else_is_again(ending: str) -> None:
    def echoes() -> bool:
        return bool(termios.tcgetattr(sys.stdin.fileno())[3] & termios.ECHO)

    with a_terminal() as person:
        asking = asyncio.ensure_future(secret()())
        await asyncio.sleep(0.05)
        assert not echoes()
        if ending == "cancelled":
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        else:
            os.write(person, ("hunter2" * (ending == "\n") + ending).encode())
            assert await asyncio.wait_for(asking, 10.0) == ("hunter2" if ending == "\n" else None)
        assert echoes()
        assert b"hunter2" not in os.read(person, 4096)
