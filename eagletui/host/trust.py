"""Which host keys are trusted: known_hosts files, read with the line that says so."""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import asyncssh

from eagletui.host.config import HostConfig
from eagletui.model.base import Data
from eagletui.model.errors import ConfigError, HostError, HostKeyChanged, HostKeyUnknown

Marker = Literal["", "cert-authority", "revoked"]
_MARKERS: dict[str, Marker] = {"@cert-authority": "cert-authority", "@revoked": "revoked"}


class Entry(Data, frozen=True):
    """One line of a known_hosts file that speaks of the machine."""

    file: str
    line: int
    marker: Marker
    key: asyncssh.SSHKey

    @property
    def where(self) -> str:
        return f"{self.file}, line {self.line}"


class Known(Data, frozen=True):
    """Everything the known_hosts files say of one machine."""

    entries: tuple[Entry, ...] = ()

    def of(self, marker: Marker) -> list[Entry]:
        return [entry for entry in self.entries if entry.marker == marker]

    def keys(self, marker: Marker) -> list[asyncssh.SSHKey]:
        return [entry.key for entry in self.of(marker)]


def look_up(name: str, files: Iterable[str]) -> Known:
    """Find a machine (`host` or `[host]:port`) in known_hosts files.

    As OpenSSH does, a machine at another port that is not listed is looked up without its port.

    Raises:
        ConfigError: one of the files is a folder.
    """
    files = list(files)
    for file in files:
        if Path(file).is_dir():
            raise ConfigError(
                f"{file} is a folder, not a known_hosts file.",
                meaning="Host keys are looked up and kept in a file.",
                advice="Correct UserKnownHostsFile or GlobalKnownHostsFile in ~/.ssh/config.",
            )
    entries = tuple(_entries(name, files))
    if not any(entry.marker != "revoked" for entry in entries):
        bare = re.fullmatch(r"\[(.+)\]:\d+", name)
        if bare:
            entries += tuple(_entries(bare[1], files))
    return Known(entries=entries)


def _entries(name: str, files: Iterable[str]) -> Iterator[Entry]:
    for file in files:
        try:
            lines = Path(file).read_bytes().splitlines()
        except OSError:
            continue
        for number, raw in enumerate(lines, 1):
            entry = _entry(name, file, number, raw.decode("utf-8", "replace").strip())
            if entry is not None:
                yield entry


def _entry(name: str, file: str, number: int, line: str) -> Entry | None:
    marker: Marker = ""
    if line.startswith("@"):
        word, _, line = line.partition(" ")
        if word not in _MARKERS:
            return None
        marker = _MARKERS[word]
    patterns, _, data = line.strip().partition(" ")
    if not data or patterns.startswith("#") or not _matches(patterns, name):
        return None
    try:
        key = asyncssh.import_public_key(data)
    except (asyncssh.KeyImportError, ValueError):
        return None
    return Entry(file=file, line=number, marker=marker, key=key)


def _matches(patterns: str, name: str) -> bool:
    if patterns.startswith("|1|"):
        return _matches_hash(patterns, name)
    found = False
    for pattern in patterns.lower().split(","):
        negated = pattern.startswith("!")
        # In known_hosts `[` is no character class: it opens `[host]:port`.
        glob = pattern.lstrip("!").replace("[", "[[]")
        if fnmatch.fnmatchcase(name, glob):
            if negated:
                return False
            found = True
    return found


def _matches_hash(pattern: str, name: str) -> bool:
    try:
        _, _, salt, digest = pattern.split("|")
        made = hmac.new(base64.b64decode(salt), name.encode(), hashlib.sha1).digest()
        return hmac.compare_digest(made, base64.b64decode(digest))
    except ValueError:
        return False


def hashed(name: str) -> str:
    """A name as HashKnownHosts writes it."""
    salt = secrets.token_bytes(20)
    digest = hmac.new(salt, name.encode(), hashlib.sha1).digest()
    return f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"


def remember(config: HostConfig, key: asyncssh.SSHKey) -> None:
    """Append a key the person agreed to, to the first of the user's known_hosts files.

    Raises:
        HostError: the file cannot be written.
    """
    if not config.known_hosts:
        return
    path = Path(config.known_hosts[0])
    name = hashed(config.trust_name) if config.hash_known_hosts else config.trust_name
    line = f"{name} {key.export_public_key().decode().strip()}\n"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = path.is_file() and path.stat().st_size and path.read_bytes()[-1:] != b"\n"
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write((("\n" if unfinished else "") + line).encode())
    except OSError as error:
        raise HostError(
            f"The key of {config.alias} could not be written to {path}: {error.strerror}.",
            advice="Make the file writable, or name another with UserKnownHostsFile.",
        ) from error


def key_type(key: asyncssh.SSHKey) -> str:
    """`ED25519`, `RSA`, … as OpenSSH names it."""
    name = key.get_algorithm().removeprefix("sk-").removeprefix("ssh-")
    return "ECDSA" if name.startswith("ecdsa") else name.split("@")[0].upper()


def changed(config: HostConfig, entry: Entry, key: asyncssh.SSHKey) -> HostKeyChanged:
    """The refusal of a key that is not the one on file."""
    return HostKeyChanged(
        f"The host key of {config.alias} ({config.host}) has changed: {key_type(key)} "
        f"{key.get_fingerprint()} is not what {entry.where} says "
        f"({key_type(entry.key)} {entry.key.get_fingerprint()}).",
        meaning="Either the machine was set up anew, or somebody is listening in. "
        "eagletui does not connect.",
        advice="Ask who runs the machine. If the new key is right, remove the old one: "
        f"ssh-keygen -f {entry.file} -R '{config.trust_name}'",
    )


def revoked(config: HostConfig, entry: Entry | None) -> HostKeyChanged:
    """The refusal of a key that is marked as revoked."""
    where = f" by {entry.where}" if entry else ""
    return HostKeyChanged(
        f"The host key of {config.alias} ({config.host}) is revoked{where}.",
        meaning="Whoever shows this key must not be trusted. eagletui does not connect.",
        advice="Ask who runs the machine for its new key.",
    )


def unknown(config: HostConfig, key: asyncssh.SSHKey, why: str) -> HostKeyUnknown:
    """The refusal of a key nobody vouches for."""
    port = f"-p {config.port} " if config.port != 22 else ""
    return HostKeyUnknown(
        f"The host key of {config.alias} ({config.host}) is not known: {key_type(key)} "
        f"{key.get_fingerprint()}.",
        meaning=why,
        advice=f"Compare the fingerprint with the machine's own, then accept it, here or with: "
        f"ssh {port}{config.user}@{config.host}",
    )
