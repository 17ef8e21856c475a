"""Questions of a host, asked on the terminal of a command without a screen."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import Iterator

import click

from eagletui.model.ask import HostKeyQuestion, SecretQuestion
from eagletui.model.text import visible


def somebody_is_there() -> bool:
    """Whether a person can be asked: both ends of the conversation are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class TerminalAsker:
    """Asks where a person is there to answer; refuses otherwise, so a script never hangs.

    Questions go to standard error: standard output belongs to the result.
    """

    def __init__(self) -> None:
        self._person = somebody_is_there()

    async def secret(self, question: SecretQuestion) -> str | None:
        """A password or passphrase, not echoed."""
        if not self._person:
            return None
        again = " (the last answer was refused)" if question.again else ""
        try:
            return await typed(f"{visible(question.subject)}{again}", shown=question.echo)
        except click.Abort:
            return None

    async def host_key(self, question: HostKeyQuestion) -> bool:
        """Whether this unknown key is to be trusted from now on."""
        if not self._person:
            return False
        click.echo(
            f"The key of {visible(question.host)} ({visible(question.address)}) is not known.\n"
            f"  {question.key_type} {question.fingerprint}",
            err=True,
        )
        try:
            trust = f"Trust it and write it to {visible(question.file)}?"
            return await yes_or_no(trust, default=False)
        except click.Abort:
            return False


async def yes_or_no(question: str, *, default: bool) -> bool:
    """What a person decides, while everything else goes on.

    Raises:
        click.Abort: the terminal is at its end.
    """
    while True:
        word = (await typed(f"{question} [{'Y/n' if default else 'y/N'}]")).strip().lower()
        if word in ("", "y", "yes", "n", "no"):
            return default if not word else word.startswith("y")
        click.echo("Say y or n.", err=True)


async def typed(question: str, *, shown: bool = True) -> str:
    """The line that a person types, while everything else goes on: a connection is kept alive.

    No thread waits for it: Ctrl-C would have to wait for that thread.

    Args:
        shown: whether the terminal shows what is typed.

    Raises:
        click.Abort: the terminal is at its end.
    """
    click.echo(f"{question}: ", nl=False, err=True)
    fd = sys.stdin.fileno()
    with contextlib.nullcontext() if shown else _unseen(fd):
        line = await _line(fd)
    if not line:
        raise click.Abort
    return line.decode("utf-8", "surrogateescape").rstrip("\r\n")


@contextlib.contextmanager
def _unseen(fd: int) -> Iterator[None]:
    """A terminal that shows nothing of what is typed."""
    before = termios.tcgetattr(fd)
    quiet = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    termios.tcsetattr(fd, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, before)
        click.echo(err=True)  # the person's own line end was not shown either


async def _line(fd: int) -> bytes:
    """The next line of a terminal; b"" at its end."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[bytes] = loop.create_future()

    def readable() -> None:
        try:
            data = os.read(fd, 4096)
        except OSError:  # it was hung up
            data = b""
        if not line.done():
            line.set_result(data)

    loop.add_reader(fd, readable)
    try:
        return await line
    finally:
        loop.remove_reader(fd)
