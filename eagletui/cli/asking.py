"""Questions of a host, asked on the terminal of a command without a screen."""

from __future__ import annotations

import asyncio
import os
import sys

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
            answer: str = click.prompt(
                f"{visible(question.subject)}{again}",
                hide_input=not question.echo,
                default="",
                show_default=False,
                err=True,
            )
        except click.Abort:
            return None
        return answer

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
            return click.confirm(f"Trust it and write it to {question.file}?", err=True)
        except click.Abort:
            return False


async def yes_or_no(question: str, *, default: bool) -> bool:
    """What a person types, while everything else goes on.

    No thread waits for it: Ctrl-C would have to wait for that thread.

    Raises:
        click.Abort: the terminal is at its end.
    """
    while True:
        click.echo(f"{question} [{'Y/n' if default else 'y/N'}]: ", nl=False, err=True)
        typed = await _typed(sys.stdin.fileno())
        if not typed:
            raise click.Abort
        word = typed.decode("utf-8", "replace").strip().lower()
        if word in ("", "y", "yes", "n", "no"):
            return default if not word else word.startswith("y")
        click.echo("Say y or n.", err=True)


async def _typed(fd: int) -> bytes:
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
