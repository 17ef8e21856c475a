"""Questions a host may put to the person while connecting, and who answers them."""

from __future__ import annotations

from typing import Protocol

from eagletui.model.base import Data


class SecretQuestion(Data, frozen=True):
    """A password, a key's passphrase or a keyboard-interactive prompt.

    Attributes:
        host: the hop that asks, as the person named it.
        subject: what is asked: `Password for ann@gpu1`, `Passphrase of ~/.ssh/id_ed25519`.
        echo: whether the answer may be shown (keyboard-interactive only).
        again: whether an earlier answer was refused.
    """

    host: str
    subject: str
    echo: bool = False
    again: bool = False


class HostKeyQuestion(Data, frozen=True):
    """An unknown host key; answering yes writes it to `file`."""

    host: str
    address: str
    key_type: str
    fingerprint: str
    file: str


class Asker(Protocol):
    """Puts questions to the person; None or False is a refusal."""

    async def secret(self, question: SecretQuestion) -> str | None: ...

    async def host_key(self, question: HostKeyQuestion) -> bool: ...
