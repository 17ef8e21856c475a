"""Persons for tests: what they answer, and what they were asked."""

from __future__ import annotations

from eagletui.model.ask import HostKeyQuestion, SecretQuestion


class Person:
    """Answers secrets from a list, in order, and host keys with one word."""

    def __init__(self, *secrets: str | None, trusts: bool = False) -> None:
        self._secrets = list(secrets)
        self._trusts = trusts
        self.asked: list[SecretQuestion] = []
        self.keys: list[HostKeyQuestion] = []

    async def secret(self, question: SecretQuestion) -> str | None:
        self.asked.append(question)
        return self._secrets.pop(0) if self._secrets else None

    async def host_key(self, question: HostKeyQuestion) -> bool:
        self.keys.append(question)
        return self._trusts
