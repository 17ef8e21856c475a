# ruff: noqa: ARG002 - the signatures are those of the library that calls
"""Who we are: agent, keys, passwords and what else a host asks; the person answers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from pathlib import Path
from typing import TypeVar

import asyncssh

from eagletui.host import trust
from eagletui.host.config import HostConfig
from eagletui.model.ask import Asker, SecretQuestion
from eagletui.model.text import visible

TRIES = 3
# What asyncssh says of a wrong passphrase, the last where a PKCS#1 key's padding fits by chance
# (9 of 3000). What it says else, no passphrase cures.
_WRONG = (
    "Incorrect passphrase",
    "Unable to decrypt key",
    "Invalid PKCS#8 encrypted key data",
    "Invalid PEM private key",
)
_T = TypeVar("_T")


class Patience:
    """A time limit that does not run while a person is being asked."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._asked_at: float | None = None
        self._answered = asyncio.Event()

    async def asking(self, question: Awaitable[_T]) -> _T:
        """Wait for the person; the clock stands still."""
        self._asked_at = time.monotonic()
        self._answered.clear()
        try:
            return await question
        finally:
            self._deadline += time.monotonic() - self._asked_at
            self._asked_at = None
            self._answered.set()

    async def limit(self, work: Awaitable[_T]) -> _T:
        """The result of some work.

        Raises:
            asyncio.TimeoutError: it took longer than allowed, questions not counted.
        """
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                if self._asked_at is not None:
                    answered = asyncio.ensure_future(self._answered.wait())
                    await asyncio.wait({task, answered}, return_when=asyncio.FIRST_COMPLETED)
                    answered.cancel()
                    continue
                left = self._deadline - time.monotonic()
                if left <= 0:
                    raise asyncio.TimeoutError
                await asyncio.wait({task}, timeout=left)
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})


class KeyRing:
    """What the person has already answered, kept in memory so that a reconnect asks nothing."""

    def __init__(self) -> None:
        self.opened: dict[str, list[asyncssh.SSHKeyPair]] = {}
        self.refused: set[str] = set()
        self.answers: dict[tuple[str, str], str] = {}


class Client(asyncssh.SSHClient):
    """The answers to one hop's questions while it is being connected."""

    def __init__(
        self, config: HostConfig, known: trust.Known, asker: Asker, ring: KeyRing, clock: Patience
    ) -> None:
        self._config = config
        self._known = known
        self._asker = asker
        self._ring = ring
        self._clock = clock
        self._keys: AsyncIterator[asyncssh.SSHKeyPair] | None = None
        self._asked: dict[str, int] = {}
        self._given: dict[str, str] = {}
        self._agent: asyncssh.SSHAgentClient | None = None
        self._silent = False
        self.tried: list[str] = []
        self.unopened: set[str] = set()
        """Locked keys that this hop went without."""
        self.shown: asyncssh.SSHKey | None = None
        self.ca_refused = False
        self.authenticating = False
        self.lost: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    # --- the connection -----------------------------------------------------------------------

    def connection_lost(self, exc: Exception | None) -> None:
        if self._agent is not None:
            self._agent.close()
            self._agent = None
        if not self.lost.done():
            self.lost.set_result(exc)

    # --- the host's key -----------------------------------------------------------------------

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        self.shown = key
        return key in self._known.keys("")

    def validate_host_ca_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.ca_refused = True
        return False

    # --- our keys -----------------------------------------------------------------------------

    def begin_auth(self, username: str) -> None:
        self.authenticating = True

    def auth_completed(self) -> None:
        self._ring.answers.update(
            {(self._config.trust_name, what): answer for what, answer in self._given.items()}
        )

    async def public_key_auth_requested(self) -> asyncssh.SSHKeyPair | None:
        if self._keys is None:
            self._keys = self._all_keys()
        return await anext(self._keys, None)

    async def _all_keys(self) -> AsyncIterator[asyncssh.SSHKeyPair]:
        config = self._config
        files = _present(config.identity_files)
        for file in config.named_files:
            if file not in files:
                self.tried.append(f"{_short(file)} (no: there is no such file)")
        for pair in await self._agent_keys(files):
            yield pair
        locked: list[str] = []
        for file in files:
            if file in self._ring.opened:
                for pair in self._ring.opened[file]:
                    self.tried.append(file)
                    yield pair
                continue
            try:
                pairs = _load(file, None, config.certificate_files)
            except asyncssh.KeyImportError as error:
                if "assphrase" in str(error):
                    locked.append(file)
                else:
                    self.tried.append(f"{_short(file)} (no: it is no private key)")
                continue
            except OSError as error:
                self.tried.append(f"{_short(file)} (no: {error.strerror or error})")
                continue
            except ValueError:
                self.tried.append(f"{_short(file)} (no: it is no private key)")
                continue
            for pair in pairs:
                self.tried.append(file)
                yield pair
        for file in locked:
            for pair in await self._unlock(file):
                self.tried.append(file)
                yield pair

    async def _agent_keys(self, files: Sequence[str]) -> list[asyncssh.SSHKeyPair]:
        if not self._config.agent:
            return []
        try:
            self._agent = await asyncssh.connect_agent(self._config.agent)
            pairs = list(await self._agent.get_keys()) if self._agent else []
        except (OSError, ValueError, asyncssh.Error):
            return []
        ours = {data for file in files for data in _public_data(file)}
        # The keys that the configuration names come first: hosts allow few tries.
        first = [pair for pair in pairs if pair.public_data in ours]
        if self._config.identities_only:
            pairs = []
        rest = [pair for pair in pairs if pair.public_data not in ours]
        if first or rest:
            self.tried.append(f"agent ({len(first) + len(rest)} keys)")
        return [*first, *rest]

    async def _unlock(self, file: str) -> list[asyncssh.SSHKeyPair]:
        if file in self._ring.refused:
            self.unopened.add(file)
            return []
        for attempt in range(TRIES):
            passphrase = await self._ask(f"Passphrase of {_short(file)}", again=attempt > 0)
            if passphrase is None:
                self.tried.append(f"{_short(file)} (no: its passphrase was not given)")
                break
            try:
                # Key derivation is slow on purpose.
                pairs = await asyncio.to_thread(
                    _load, file, passphrase, self._config.certificate_files
                )
            except OSError as error:
                self.tried.append(f"{_short(file)} (no: {error.strerror or error})")
                break
            except ValueError as error:
                why = _why(error)
                # Of an empty one asyncssh calls the key invalid.
                if not passphrase or why in _WRONG:
                    continue
                self.tried.append(f"{_short(file)} (encrypted: {visible(why)})")
                break
            self._ring.opened[file] = pairs
            return pairs
        else:
            self.tried.append(f"{_short(file)} (no: the passphrase was wrong {TRIES} times)")
        self._ring.refused.add(file)
        self.unopened.add(file)
        return []

    # --- passwords ----------------------------------------------------------------------------

    async def password_auth_requested(self) -> str | None:
        return await self._answer(f"Password for {self._config.user}@{self._config.alias}")

    async def kbdint_auth_requested(self) -> str | None:
        # Where no question came, or none was answered, trying again only counts against us until
        # the host shuts the door.
        if self._silent:
            return None
        self._silent = True
        return ""

    async def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> Sequence[str] | None:
        answers: list[str] = []
        for prompt, echo in prompts:
            subject = " ".join(
                part for part in (name.strip(), instructions.strip(), prompt.strip()) if part
            )
            if prompt.strip().lower().rstrip(":") == "password":
                subject = f"Password for {self._config.user}@{self._config.alias}"
            answer = await self._answer(subject, echo=echo)
            if answer is None:
                return None
            answers.append(answer)
        self._silent = self._silent and not answers
        return answers

    async def _answer(self, subject: str, *, echo: bool = False) -> str | None:
        asked = self._asked.get(subject, 0)
        if asked >= TRIES:
            return None
        self._asked[subject] = asked + 1
        known = self._ring.answers.pop((self._config.trust_name, subject), None)
        answer = known or await self._ask(subject, echo=echo, again=asked > 0)
        if answer is None:
            self._asked[subject] = TRIES
            return None
        self.tried.append("password" if subject.startswith("Password for ") else "question")
        # One-time codes are asked again; only a password is worth keeping.
        if subject.startswith("Password for "):
            self._given[subject] = answer
        return answer

    async def _ask(self, subject: str, *, echo: bool = False, again: bool = False) -> str | None:
        question = SecretQuestion(host=self._config.alias, subject=subject, echo=echo, again=again)
        return await self._clock.asking(self._asker.secret(question))


def _load(
    file: str, passphrase: str | None, certificates: Sequence[str]
) -> list[asyncssh.SSHKeyPair]:
    path = os.path.expanduser(file)
    return list(asyncssh.load_keypairs(path, passphrase, _present(certificates)))


def _why(error: ValueError) -> str:
    """Why a key stays locked; of one in PEM asyncssh says no more than "Unable to decrypt"."""
    cause = error.__context__
    return str(cause if isinstance(cause, asyncssh.KeyEncryptionError) else error)


def _present(files: Sequence[str]) -> list[str]:
    return [file for file in files if os.path.isfile(os.path.expanduser(file))]


def _public_data(file: str) -> list[bytes]:
    found = []
    path = Path(os.path.expanduser(file))
    for candidate in (path.with_name(path.name + ".pub"), path):
        with contextlib.suppress(OSError, ValueError):
            found.append(asyncssh.read_public_key(candidate).public_data)
    return found


def _short(file: str) -> str:
    path = Path(os.path.expanduser(file))
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
