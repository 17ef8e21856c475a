"""Who is connected to: host keys, on the last hop and on those before it; and who we are."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import getpass
import importlib.util
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import asyncssh
import pytest

from eagletui.host import trust
from eagletui.host.ssh import SshHost
from eagletui.host.target import Target, parse_target
from eagletui.model.ask import SecretQuestion
from eagletui.model.errors import (
    AuthenticationFailed,
    ConfigError,
    HostError,
    HostKeyChanged,
    HostKeyUnknown,
    UsageError,
)
from tests.host.people import Person
from tests.sshd import free_port, keygen


class Visitor:
    """A command that somebody runs in a house."""

    def __init__(
        self, process: asyncssh.SSHServerProcess[bytes], child: asyncio.subprocess.Process
    ) -> None:
        self._process, self._child = process, child

    async def stay(self) -> None:
        child = self._child
        await self._process.redirect(stdin=child.stdin, stdout=child.stdout, stderr=child.stderr)
        self._process.exit(await child.wait())

    async def leave(self) -> None:
        """End the command; asyncssh's rest, which it leaves to whoever waits, is waited for."""
        if self._child.returncode is None:
            self._child.kill()
        await self._child.wait()
        await self._process.wait_closed()


class Door(asyncssh.SSHServer):
    """An in-process SSH server: one password, one key, one question."""

    def __init__(self, house: House) -> None:
        self._house = house

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._house.connections.append(conn)

    def connection_requested(
        self, dest_host: str, dest_port: int, orig_host: str, orig_port: int
    ) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return bool(self._house.password)

    def validate_password(self, username: str, password: str) -> bool:
        self._house.passwords.append(password)
        return password == self._house.password

    def kbdint_auth_supported(self) -> bool:
        return bool(self._house.code)

    def get_kbdint_challenge(
        self, username: str, lang: str, submethods: str
    ) -> tuple[str, str, str, list[tuple[str, bool]]]:
        self._house.challenges += 1
        return "", "", "", [("Verification code: ", True)]

    def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> bool:
        return list(responses) == [self._house.code]


class House:
    """A server, its folder and its client's configuration."""

    def __init__(self, folder: Path, name: str, *, password: str = "", code: str = "") -> None:
        self.folder, self.name = folder, name
        self.password, self.code = password, code
        self.port = free_port()
        self.key = asyncssh.generate_private_key("ssh-ed25519")
        self.client_key = asyncssh.generate_private_key("ssh-ed25519")
        self.known_hosts = folder / "ssh" / "known_hosts"
        self.connections: list[asyncssh.SSHServerConnection] = []
        self.passwords: list[str] = []
        self.challenges = 0
        self.options: list[str] = []
        self.certificates: list[asyncssh.SSHCertificate] = []
        self._visitors: list[Visitor] = []
        self._acceptor: asyncssh.SSHAcceptor | None = None

    async def open(self) -> None:
        async def handle(process: asyncssh.SSHServerProcess[bytes]) -> None:
            child = await asyncio.create_subprocess_exec(
                "/bin/sh",
                "-c",
                process.command or "",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            session = Visitor(process, child)
            self._visitors.append(session)
            await session.stay()

        self._acceptor = await asyncssh.listen(
            "127.0.0.1",
            self.port,
            server_factory=lambda: Door(self),
            server_host_keys=[self.key],
            server_host_certs=self.certificates,
            authorized_client_keys=asyncssh.import_authorized_keys(
                self.client_key.export_public_key().decode()
            ),
            process_factory=handle,
            encoding=None,
        )

    async def close(self) -> None:
        assert self._acceptor is not None
        self._acceptor.close()
        for connection in self.connections:
            connection.abort()
        for visitor in self._visitors:
            await visitor.leave()
        await self._acceptor.wait_closed()

    def stanza(self) -> str:
        key = self.folder / f"{self.name}_key"
        if not key.exists():
            self.client_key.write_private_key(key)
        lines = [
            f"Host {self.name}",
            "HostName 127.0.0.1",
            f"Port {self.port}",
            f"User {getpass.getuser()}",
            f"UserKnownHostsFile {self.known_hosts}",
            *self.options,
        ]
        if not any(line.startswith("IdentityFile") for line in self.options):
            lines.append(f"IdentityFile {key}")
        return "\n  ".join(lines) + "\n"

    def trust(self, key: asyncssh.SSHKey | None = None, prefix: str = "") -> str:
        public = (key or self.key).export_public_key().decode().strip()
        line = f"{prefix}[127.0.0.1]:{self.port} {public}\n"
        self.known_hosts.parent.mkdir(exist_ok=True)
        with self.known_hosts.open("a") as file:
            file.write(line)
        return line


Build = Callable[..., Awaitable[House]]


@pytest.fixture
async def build(tmp_path: Path) -> AsyncIterator[Build]:
    houses: list[House] = []

    async def make(name: str = "gpu", **options: str) -> House:
        house = House(tmp_path, name, **options)
        houses.append(house)
        await house.open()
        return house

    yield make
    for house in houses:
        await house.close()


@contextlib.asynccontextmanager
async def before(*houses: House, person: Person, target: str = "") -> AsyncIterator[SshHost]:
    """The last of some houses, to connect to."""
    config = houses[0].folder / "config"
    config.write_text("".join(house.stanza() for house in houses))
    host = SshHost(target or houses[-1].name, asker=person, config=[str(config)])
    try:
        yield host
    finally:
        await host.close()


@contextlib.asynccontextmanager
async def entered(*houses: House, person: Person, target: str = "") -> AsyncIterator[SshHost]:
    """Connect to the last of some houses."""
    async with before(*houses, person=person, target=target) as host:
        await host.connect()
        yield host


async def refused(house: House, person: Person) -> AuthenticationFailed:
    """What is said where nobody gets in."""
    with pytest.raises(AuthenticationFailed) as caught:
        async with entered(house, person=person):
            pass
    return caught.value


def locked(house: House, form: str = "pkcs8-pem") -> Path:
    """The key of a house that is trusted; `open sesame` opens it."""
    house.trust()
    key = house.folder / "gpu_key"
    house.client_key.write_private_key(key, form, passphrase="open sesame")
    return key


# --- host keys -------------------------------------------------------------------------------


async def test_unknown_key_is_asked_and_kept(build: Build) -> None:
    house = await build()
    person = Person(trusts=True)
    async with entered(house, person=person) as host:
        assert (await host.run(["echo", "in"])).stdout == b"in\n"
    (question,) = person.keys
    assert question.host == "gpu"
    assert question.address == f"127.0.0.1:{house.port}"
    assert question.key_type == "ED25519"
    assert question.fingerprint == house.key.get_fingerprint()
    assert question.fingerprint.startswith("SHA256:")
    assert question.file == str(house.known_hosts)
    assert house.known_hosts.stat().st_mode & 0o777 == 0o600
    assert house.known_hosts.parent.stat().st_mode & 0o777 == 0o700
    host_name, kind, key = house.known_hosts.read_text().split()[:3]
    assert (host_name, kind) == (f"[127.0.0.1]:{house.port}", "ssh-ed25519")
    assert key == house.key.export_public_key().decode().split()[1]
    async with entered(house, person=person):
        assert len(person.keys) == 1


async def test_unknown_key_refused(build: Build) -> None:
    house = await build()
    with pytest.raises(HostKeyUnknown) as caught:
        async with entered(house, person=Person()):
            pass
    assert house.key.get_fingerprint() in caught.value.what
    assert f"ssh -p {house.port}" in caught.value.advice
    assert not house.known_hosts.exists()


async def test_an_unfinished_last_line_is_not_glued(build: Build) -> None:
    house = await build()
    house.known_hosts.parent.mkdir()
    house.known_hosts.write_text("other ssh-ed25519 AAAA")
    async with entered(house, person=Person(trusts=True)):
        pass
    lines = house.known_hosts.read_text().splitlines()
    assert lines[0] == "other ssh-ed25519 AAAA"
    assert lines[1].startswith("[127.0.0.1]")


@pytest.mark.parametrize("strict", ["yes", "no", "ask", "accept-new"])
async def test_strict_host_key_checking(build: Build, strict: str) -> None:
    house = await build()
    house.options.append(f"StrictHostKeyChecking {strict}")
    person = Person(trusts=False)
    with contextlib.suppress(HostKeyUnknown):
        async with entered(house, person=person):
            pass
    assert len(person.keys) == {"yes": 0, "no": 1, "ask": 1, "accept-new": 0}[strict]
    assert house.known_hosts.exists() == (strict == "accept-new")


@pytest.mark.parametrize("strict", ["no", "ask", "accept-new"])
@pytest.mark.parametrize("kind", ["ssh-ed25519", "ecdsa-sha2-nistp256"])
async def test_changed_key_is_refused_naming_the_line(build: Build, strict: str, kind: str) -> None:
    house = await build()
    house.options.append(f"StrictHostKeyChecking {strict}")
    house.known_hosts.parent.mkdir()
    house.known_hosts.write_text("# a comment\n\nelsewhere ssh-ed25519 AAAA\n")
    old = asyncssh.generate_private_key(kind)
    house.trust(old)
    person = Person(trusts=True)
    with pytest.raises(HostKeyChanged) as caught:
        async with entered(house, person=person):
            pass
    assert person.keys == []
    assert f"{house.known_hosts}, line 4" in caught.value.what
    assert house.key.get_fingerprint() in caught.value.what
    assert old.get_fingerprint() in caught.value.what
    assert f"ssh-keygen -f {house.known_hosts} -R '[127.0.0.1]:{house.port}'" in caught.value.advice


async def test_hashed_names_and_other_files(build: Build) -> None:
    house = await build()
    second = house.folder / "second_known_hosts"
    public = house.key.export_public_key().decode()
    second.write_text(f"{trust.hashed(f'[127.0.0.1]:{house.port}')} {public}")
    house.options.append(f"UserKnownHostsFile {house.folder / 'first'} {second}")
    stanza = house.stanza().replace(f"  UserKnownHostsFile {house.known_hosts}\n", "")
    (house.folder / "config").write_text(stanza)
    person = Person()
    host = SshHost("gpu", asker=person, config=[str(house.folder / "config")])
    await host.connect()
    await host.close()
    assert person.keys == []


async def test_hash_known_hosts(build: Build) -> None:
    house = await build()
    house.options.append("HashKnownHosts yes")
    async with entered(house, person=Person(trusts=True)):
        pass
    assert house.known_hosts.read_text().startswith("|1|")
    async with entered(house, person=Person()):
        pass


async def test_revoked_key(build: Build) -> None:
    house = await build()
    house.trust()
    house.trust(prefix="@revoked ")
    with pytest.raises(HostKeyChanged, match=r"revoked by .*known_hosts, line 2"):
        async with entered(house, person=Person(trusts=True)):
            pass


async def test_certificate_of_a_trusted_authority(build: Build, tmp_path: Path) -> None:
    authority = asyncssh.generate_private_key("ssh-ed25519")
    house = House(tmp_path, "gpu")
    house.certificates = [
        authority.generate_host_certificate(house.key, "gpu", principals=["127.0.0.1"])
    ]
    await house.open()
    try:
        house.trust(authority, prefix="@cert-authority ")
        person = Person()
        async with entered(house, person=person):
            assert person.keys == []
        house.known_hosts.unlink()
        # Another authority vouches for nothing: the plain key is asked about.
        house.trust(asyncssh.generate_private_key("ssh-ed25519"), prefix="@cert-authority ")
        person = Person(trusts=True)
        async with entered(house, person=person):
            assert [key.fingerprint for key in person.keys] == [house.key.get_fingerprint()]
    finally:
        await house.close()


# --- hops ------------------------------------------------------------------------------------


async def test_every_hop_is_asked_about(build: Build) -> None:
    first, second, last = await build("one"), await build("two"), await build("gpu")
    second.options.append("ProxyJump one")
    last.options.append("ProxyJump two")
    person = Person(trusts=True)
    async with entered(first, second, last, person=person) as host:
        assert (await host.run(["echo", "far"])).stdout == b"far\n"
    assert [key.host for key in person.keys] == ["one", "two", "gpu"]
    assert len(first.known_hosts.read_text().splitlines()) == 3


async def test_a_list_of_jumps(build: Build) -> None:
    first, second, last = await build("one"), await build("two"), await build("gpu")
    last.options.append("ProxyJump one,two")
    person = Person(trusts=True)
    async with entered(first, second, last, person=person):
        pass
    assert [key.host for key in person.keys] == ["one", "two", "gpu"]


async def test_changed_key_on_the_jump_host(build: Build) -> None:
    jump, last = await build("jump"), await build("gpu")
    last.options.append("ProxyJump jump")
    jump.trust(asyncssh.generate_private_key("ssh-ed25519"))
    last.trust()
    with pytest.raises(HostKeyChanged, match=r"host key of jump .* line 1"):
        async with entered(jump, last, person=Person(trusts=True)):
            pass
    assert last.connections == []


async def test_jumps_in_a_circle(build: Build) -> None:
    house = await build("gpu")
    house.options.append("ProxyJump gpu")
    with pytest.raises(ConfigError, match="circle"):
        async with entered(house, person=Person()):
            pass


async def test_target_behind_the_jump_refuses(build: Build) -> None:
    jump, last = await build("jump"), await build("gpu")
    jump.trust()
    last.options.append("ProxyJump jump")
    await last.close()
    with pytest.raises(HostError, match="machine before gpu could not reach"):
        async with entered(jump, last, person=Person()):
            pass
    await last.open()


async def test_proxy_command(build: Build) -> None:
    house = await build()
    relay = house.folder / "relay.py"
    relay.write_text(
        "import socket,sys,threading,os\n"
        "s=socket.create_connection((sys.argv[1],int(sys.argv[2])))\n"
        "print('chatter', file=sys.stderr)\n"
        "def up():\n"
        "  while d:=os.read(0,65536): s.sendall(d)\n"
        "threading.Thread(target=up,daemon=True).start()\n"
        "while d:=s.recv(65536): os.write(1,d)\n"
    )
    house.options.append(f"ProxyCommand {sys.executable} {relay} %h %p")
    house.trust()
    async with entered(house, person=Person()) as host:
        assert (await host.run(["echo", "x"])).stdout == b"x\n"


# --- who we are ------------------------------------------------------------------------------


async def test_password_three_tries(build: Build) -> None:
    house = await build(password="right")
    house.trust()
    house.options += ["IdentityFile /nowhere", "PreferredAuthentications password"]
    person = Person("wrong", "worse", "right")
    async with entered(house, person=person) as host:
        assert [q.again for q in person.asked] == [False, True, True]
        assert person.asked[0].subject == f"Password for {getpass.getuser()}@gpu"
        assert not person.asked[0].echo
        await host.connect()
        assert len(person.asked) == 3
    assert house.passwords == ["wrong", "worse", "right", "right"]


async def test_wrong_passwords(build: Build) -> None:
    house = await build(password="right")
    house.trust()
    house.options += ["IdentityFile /nowhere", "PreferredAuthentications password"]
    person = Person("a", "b", "c", "d")
    with pytest.raises(AuthenticationFailed, match="did not accept"):
        async with entered(house, person=person):
            pass
    assert len(person.asked) == 3


async def test_keyboard_interactive(build: Build) -> None:
    house = await build(code="123456")
    house.trust()
    house.options.append("IdentityFile /nowhere")
    person = Person("123456")
    async with entered(house, person=person):
        pass
    assert [(q.subject, q.echo) for q in person.asked] == [("Verification code:", True)]


async def test_who_does_not_answer_is_asked_once(build: Build) -> None:
    house = await build(code="123456")
    house.trust()
    house.options.append("IdentityFile /nowhere")
    person = Person()
    failure = await refused(house, person)
    assert len(person.asked) == 1
    assert house.challenges == 1
    assert "IdentitiesOnly" not in failure.advice


async def test_a_locked_key_is_named(build: Build) -> None:
    house = await build()
    key = locked(house)
    with pytest.raises(AuthenticationFailed) as caught:
        async with entered(house, person=Person()):
            pass
    assert f"{key} (no: its passphrase was not given)" in caught.value.meaning


async def test_a_key_that_is_none_is_named(build: Build) -> None:
    house = await build()
    house.trust()
    key = house.folder / "gpu_key"
    key.write_text("no key at all")
    with pytest.raises(AuthenticationFailed) as caught:
        async with entered(house, person=Person()):
            pass
    assert f"{key} (no: it is no private key)" in caught.value.meaning


async def test_no_method_left(build: Build) -> None:
    house = await build()
    house.trust()
    house.options.append("IdentityFile /nowhere")
    with pytest.raises(AuthenticationFailed) as caught:
        async with entered(house, person=Person()):
            pass
    assert "/nowhere (no: there is no such file)" in caught.value.meaning
    assert "authorized_keys" in caught.value.advice


async def test_passphrase_is_asked_once_a_key(build: Build) -> None:
    house = await build()
    house.trust()
    house.client_key.write_private_key(
        house.folder / "gpu_key", "pkcs8-pem", passphrase="open sesame"
    )
    person = Person("wrong", "open sesame")
    async with entered(house, person=person) as host:
        assert [q.subject for q in person.asked] == [f"Passphrase of {house.folder}/gpu_key"] * 2
        assert [q.again for q in person.asked] == [False, True]
        await host.connect()
    assert len(person.asked) == 2


@pytest.mark.skipif(
    importlib.util.find_spec("bcrypt") is None, reason="keys of ssh-keygen need bcrypt"
)
@pytest.mark.parametrize("answers", [("secret",), ("wrong", "", "secret")])
async def test_passphrase_of_an_openssh_key(build: Build, answers: tuple[str, ...]) -> None:
    house = await build()
    house.trust()
    path = keygen(house.folder / "gpu_key", passphrase="secret")
    house.client_key = asyncssh.read_private_key(path, "secret")
    await house.close()
    await house.open()
    person = Person(*answers)
    async with entered(house, person=person):
        assert len(person.asked) == len(answers)


@pytest.mark.skipif(
    importlib.util.find_spec("bcrypt") is None, reason="keys of ssh-keygen need bcrypt"
)
async def test_a_passphrase_that_stays_wrong_is_called_so(build: Build) -> None:
    house = await build()
    house.trust()
    path = keygen(house.folder / "gpu_key", passphrase="secret")
    person = Person("wrong", "still wrong", "wrong")
    failure = await refused(house, person)
    assert len(person.asked) == 3
    assert f"{path} (no: the passphrase was wrong 3 times)" in failure.meaning


async def test_who_tries_again_is_asked_for_the_passphrase_again(build: Build) -> None:
    house = await build()
    locked(house)
    person = Person(None, "open sesame")
    async with before(house, person=person) as host:
        with pytest.raises(AuthenticationFailed):
            await host.connect()
        await host.connect()
        assert [q.again for q in person.asked] == [False, False]


async def test_who_tries_again_is_asked_about_the_hop_that_failed_alone(build: Build) -> None:
    """The first hop's key was declined and its password given: neither is asked for again."""
    jump, last = await build("jump", password="right"), await build("gpu")
    last.options.append("ProxyJump jump")
    for house in (jump, last):
        house.trust()
        key = house.folder / f"{house.name}_key"
        house.client_key.write_private_key(key, "pkcs8-pem", passphrase="open sesame")
    keys = [f"Passphrase of {house.folder}/{house.name}_key" for house in (jump, last)]
    password = f"Password for {getpass.getuser()}@jump"
    person = Person(None, "right", None, "open sesame")
    async with before(jump, last, person=person) as host:
        with pytest.raises(AuthenticationFailed, match=r"gpu .* did not accept"):
            await host.connect()
        assert [q.subject for q in person.asked] == [keys[0], password, keys[1]]
        await host.connect()
        assert [q.subject for q in person.asked[3:]] == [keys[1]]


async def test_a_key_declined_for_the_first_hop_is_asked_for_where_the_next_lacked_it(
    build: Build,
) -> None:
    jump, last = await build("jump", password="right"), await build("gpu")
    last.options += ["ProxyJump jump", f"IdentityFile {jump.folder}/jump_key"]
    for house in (jump, last):
        house.trust()
    key = jump.folder / "jump_key"
    last.client_key.write_private_key(key, "pkcs8-pem", passphrase="open sesame")
    person = Person(None, "right", "open sesame")
    async with before(jump, last, person=person) as host:
        with pytest.raises(AuthenticationFailed, match=r"gpu .* did not accept"):
            await host.connect()
        await host.connect()
        assert [q.subject.partition(" ")[0] for q in person.asked] == [
            "Passphrase", "Password", "Passphrase",
        ]  # fmt: skip


@pytest.mark.parametrize("words", ["Unknown cipher: x", "private key encryption requires bcrypt"])
async def test_a_key_that_no_passphrase_opens_is_asked_for_once(
    build: Build, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    house = await build()
    key = locked(house)
    real = asyncssh.load_keypairs

    def load(path: str, passphrase: str | None = None, *rest: object) -> object:
        if passphrase is not None:
            raise asyncssh.KeyEncryptionError(words)
        return real(path, passphrase, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(asyncssh, "load_keypairs", load)
    person = Person("open sesame")
    failure = await refused(house, person)
    assert len(person.asked) == 1
    assert f"{key} (encrypted: {words})" in failure.meaning


def repacked(key: Path, old: bytes, new: bytes) -> None:
    """Change what a PEM file holds."""
    first, *lines, last = key.read_bytes().splitlines()
    data = base64.b64decode(b"".join(lines))
    assert old in data
    packed = base64.encodebytes(data.replace(old, new))
    key.write_bytes(b"\n".join((first, packed.strip(), last, b"")))


@pytest.mark.parametrize(
    ("form", "old", "new", "words"),
    [
        ("pkcs8-pem", b"\x01\x05\x0c", b"\x01\x05\x7f", "Unknown PBES2 key derivation function"),
        ("pkcs8-pem", b"\x02\x02\x08\x00", b"\x04\x02\x08\x00",
         "Invalid PBES2 key derivation parameters"),
        ("openssh", b"aes256-", b"aes999-", "Unknown cipher: aes999-"),
        ("openssh", b"bcrypt", b"scrypt", "Unknown kdf: scrypt"),
    ],
)  # fmt: skip
async def test_a_damaged_key_is_called_so_and_asked_for_once(
    build: Build, form: str, old: bytes, new: bytes, words: str
) -> None:
    if form == "openssh":
        pytest.importorskip("bcrypt")
    house = await build()
    key = locked(house, form)
    repacked(key, old, new)
    person = Person("open sesame")
    failure = await refused(house, person)
    assert len(person.asked) == 1
    assert f"{key} (encrypted: {words}" in failure.meaning


async def test_a_wrong_passphrase_whose_padding_fits_is_wrong_all_the_same(build: Build) -> None:
    """One in 256 of a PKCS#1 key passes for right until what it gives is read."""
    house = await build()
    house.trust()
    key = house.folder / "gpu_key"
    rsa = asyncssh.generate_private_key("ssh-rsa", key_size=1024)
    rsa.write_private_key(key, "pkcs1-pem", passphrase="open sesame")
    for number in range(20_000):
        with pytest.raises(asyncssh.KeyImportError) as wrong:
            asyncssh.load_keypairs(key, f"{number}")
        if "Unable to decrypt" not in str(wrong.value):
            break
    person = Person(f"{number}", "wrong", f"{number}")
    failure = await refused(house, person)
    assert len(person.asked) == 3
    assert f"{key} (no: the passphrase was wrong 3 times)" in failure.meaning


async def test_a_key_that_is_gone_when_its_passphrase_comes_is_called_so(build: Build) -> None:
    house = await build()
    key = locked(house)

    class Tidy(Person):
        async def secret(self, question: SecretQuestion) -> str | None:
            key.unlink()
            return await super().secret(question)

    person = Tidy("open sesame")
    failure = await refused(house, person)
    assert len(person.asked) == 1
    assert f"{key} (no: No such file or directory)" in failure.meaning


async def test_the_time_of_an_answer_does_not_count(build: Build) -> None:
    house = await build(password="right")
    house.trust()
    house.options += ["IdentityFile /nowhere", "ConnectTimeout 1"]

    class Slow(Person):
        async def secret(self, question: object) -> str | None:
            await asyncio.sleep(1.3)
            return "right"

    async with entered(house, person=Slow()):
        pass


# --- what goes wrong -------------------------------------------------------------------------


async def test_refused(tmp_path: Path) -> None:
    host = SshHost(f"127.0.0.1:{free_port()}", asker=Person(), config=[])
    with pytest.raises(HostError, match="refused the connection"):
        await host.connect()


async def test_unknown_name() -> None:
    host = SshHost("no-such-host.invalid", asker=Person(), config=[])
    with pytest.raises(HostError, match=r"name no-such-host.invalid is not known"):
        await host.connect()


async def test_a_server_that_says_nothing() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    host = SshHost(f"127.0.0.1:{port}", asker=Person(), config=[], connect_timeout=0.3)
    with pytest.raises(HostError, match=r"did not answer within 0.3 s"):
        await host.connect()
    server.close()


async def test_no_ssh_server() -> None:
    async def web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(web, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    host = SshHost(f"127.0.0.1:{port}", asker=Person(), config=[])
    with pytest.raises(HostError, match="ended before the login"):
        await host.connect()
    server.close()


async def test_broken_configuration(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host x\n  Port many\n")
    with pytest.raises(ConfigError, match="SSH configuration"):
        await SshHost("x", asker=Person(), config=[str(config)]).connect()


async def test_a_folder_for_known_hosts_is_a_fault_of_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(f"Host x\n  HostName 127.0.0.1\n  UserKnownHostsFile {tmp_path}\n")
    with pytest.raises(ConfigError, match=f"{tmp_path} is a folder, not a known_hosts file"):
        await SshHost("x", asker=Person(), config=[str(config)]).connect()


async def test_an_equals_sign_in_a_match_command_is_explained(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text('Match host x exec "test a = a"\n  Port 9\n')
    with pytest.raises(ConfigError, match="line 1") as caught:
        await SshHost("x", asker=Person(), config=[str(config)]).connect()
    assert "into a script" in caught.value.meaning


async def test_drop_and_reconnect(build: Build) -> None:
    house = await build()
    house.trust()
    async with entered(house, person=Person()) as host:
        waiting = asyncio.create_task(host.wait_lost())
        await host.run(["true"])
        house.connections[-1].abort()
        assert await asyncio.wait_for(waiting, 5)
        await host.connect()
        assert (await host.run(["echo", "back"])).stdout == b"back\n"


# --- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("gpu1", Target(host="gpu1")),
        ("ann@gpu1", Target(host="gpu1", user="ann")),
        ("ann@gpu1:2222", Target(host="gpu1", user="ann", port=2222)),
        ("a@b@gpu1", Target(host="gpu1", user="a@b")),
        ("[::1]:22", Target(host="::1", port=22)),
        ("[::1]", Target(host="::1")),
        ("::1", Target(host="::1")),
        ("user@[fe80::1%eth0]:2222", Target(host="fe80::1%eth0", user="user", port=2222)),
        ("ssh://ann@gpu1:22/", Target(host="gpu1", user="ann", port=22)),
    ],
)
def test_targets(text: str, target: Target) -> None:
    assert parse_target(text) == target
    assert parse_target(str(target)) == target


@pytest.mark.parametrize(
    "text", ["", "@x", "x:", "x:0", "x:65536", "x:ssh", "-oProxyCommand=x", "a b", "[::1", "x;y"]
)
def test_no_targets(text: str) -> None:
    with pytest.raises(UsageError):
        parse_target(text)


def test_opening_imports_nothing_heavy() -> None:
    code = (
        "import sys, eagletui.host.open; print('asyncssh' in sys.modules, 'aiohttp' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.split() == ["False", "False"]
