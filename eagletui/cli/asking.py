"""Questions of a host, asked on the terminal of a command without a screen."""

from __future__ import annotations

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
