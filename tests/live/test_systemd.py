"""The systemd runner with a real systemd, which boots in a container of the test's own docker."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from eagletui.control.api import Running
from eagletui.engine.command import parse_command
from eagletui.host.processes import RawServer, find_servers
from eagletui.model.profile import Guard, StartPlan
from tests.control import dockerd, servers, systemd_box
from tests.control.servers import free_port, wait_for
from tests.control.systemd_box import BoxedHost, inside, write
from tests.control.test_restart import QUICK, details, driven, states

PYTHON = "/usr/bin/python3"
NASTY = ("; rm -rf ~", ";", "$(touch /never) `id` $HOME ${HOME} $", "it's \"q\" \\", "a\nb\tc\x01",
         "東京 %n %% %", "", "\\x41 \\", " lead")  # fmt: skip
TEXTS = tuple(value for value in NASTY if value.isprintable() or value == "")
PATIENT = replace(QUICK, settle=0.3)
GUARD = Guard(drain_seconds=0.0, stop_seconds=60.0, roll_back="always")
UNIT = "sglang-llm.service"
READ = """
import json, sys
words = open(sys.argv[1], "rb").read().decode("utf-8", "surrogateescape").split("\\0")
json.dump(words, sys.stdout)
"""
DROP_IN = f"/etc/systemd/system/{UNIT}.d/50-eagletui.conf"


@pytest.fixture(scope="module")
def srv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("systemd")
    try:
        with dockerd.daemon() as address, pytest.MonkeyPatch.context() as patch:
            patch.setenv("DOCKER_HOST", address)
            dockerd.import_image(folder)
            with systemd_box.booted(folder):
                script = folder / "srv" / "sglang" / "launch_server.py"
                script.parent.mkdir()
                shutil.copy(Path(servers.__file__).with_name("launch_server.py"), script)
                yield folder / "srv"
    except dockerd.NoDocker as problem:
        pytest.skip(str(problem))


@pytest.fixture
async def box(srv: Path) -> AsyncIterator[BoxedHost]:
    host = BoxedHost()
    await host.connect()
    yield host
    await host.close()
    inside("systemctl", "stop", UNIT, status=None)
    inside("rm", "-rf", f"{DROP_IN.rpartition('/')[0]}", "/state", "/lock")
    inside("systemctl", "daemon-reload")


def serving(srv: Path, *, start: str = "", more: str = "") -> int:
    """The unit, which restarts its server by itself."""
    port = free_port()
    start = start or f"{PYTHON} /srv/sglang/launch_server.py --port {port} --tag old"
    start = start.replace("PORT", str(port))
    write(
        f"/etc/systemd/system/{UNIT}",
        "[Unit]\nDefaultDependencies=no\n[Service]\nRestart=always\nRestartSec=0\n"
        f"Environment=NCCL_ALGO=Tree HF_HOME=/models\nExecStart={start}\n{more}",
    )
    inside("systemctl", "daemon-reload")
    inside("systemctl", "reset-failed", status=None)
    inside("systemctl", "start", UNIT)
    wait_for(lambda: listens(port), "the unit serves")
    return port


def listens(port: int) -> bool:
    wanted = f":{port:04X}"
    rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(row.split()[1].endswith(wanted) and row.split()[3] == "0A" for row in rows)


async def found(box: BoxedHost, port: int) -> RawServer:
    found = (await find_servers(box)).servers
    [raw] = [raw for raw in found if parse_command(raw.argv).port == port]
    return raw


def plan(raw: RawServer, port: int, *flags: str, **environment: str) -> StartPlan:
    return StartPlan(
        argv=(PYTHON, "/srv/sglang/launch_server.py", "--port", str(port), *flags),
        environment=environment,
        workdir="/srv",
        port=port,
        runner="systemd",
        unit=UNIT,
        profile="new",
        guard=GUARD,
    )


def main_pid() -> int:
    return int(inside("systemctl", "show", "-p", "MainPID", "--value", UNIT))


def argv(pid: int) -> list[str]:
    return list(json.loads(inside(PYTHON, "-c", READ, f"/proc/{pid}/cmdline")))[:-1]


def environ(pid: int) -> dict[str, str]:
    words = json.loads(inside(PYTHON, "-c", READ, f"/proc/{pid}/environ"))
    return dict(word.split("=", 1) for word in words if "=" in word)


async def test_a_unit_is_given_other_words_and_hostile_ones_arrive(
    srv: Path, box: BoxedHost
) -> None:
    port = serving(srv)
    raw = await found(box, port)
    assert raw.unit == UNIT
    texts = {f"T{i}": value for i, value in enumerate(TEXTS)}
    new = plan(raw, port, *NASTY, NCCL_PROTO="LL", LINES="a\nb\tc", **texts)
    restart, told = await driven(box, new, Running.of(raw, port), limits=PATIENT)
    assert states(told)[-1] == "ready", (details(told), restart.standing)
    pid = main_pid()
    assert restart.pid == pid
    assert argv(pid) == list(new.argv)
    has = environ(pid)
    assert {name: has[name] for name in texts} == texts
    assert has["LINES"] == "a\nb\tc"
    assert has["NCCL_PROTO"] == "LL"
    assert has["HF_HOME"] == "/models"
    assert "NCCL_ALGO" not in has
    assert inside("systemctl", "show", "-p", "NRestarts", "--value", UNIT) == "0\n"
    assert inside("stat", "-c", "%a", DROP_IN, DROP_IN[:-4] + "env") == "600\n600\n"


async def test_what_fails_gives_way_and_the_drop_in_is_gone(srv: Path, box: BoxedHost) -> None:
    port = serving(srv)
    raw = await found(box, port)
    new = plan(raw, port, SGLANG_FAKE_DIE="shards")
    restart, told = await driven(box, new, Running.of(raw, port), limits=PATIENT)
    assert states(told)[-1] == "rolled-back", details(told)
    assert restart.standing.problem is not None
    assert restart.standing.problem.code.startswith("out-of-memory")
    assert argv(main_pid()) == list(raw.argv)
    inside("test", "-e", DROP_IN, status=1)
    assert inside("systemctl", "show", "-p", "NeedDaemonReload", "--value", UNIT) == "no\n"


async def test_a_crash_is_told_of_the_start_that_crashed(srv: Path, box: BoxedHost) -> None:
    """It had been started again, and again, before anybody asked how it had ended."""
    port = serving(srv)
    raw = await found(box, port)
    new = replace(plan(raw, port), argv=("/bin/sh", "-c", "sleep 3; exit 3"))
    restart, told = await driven(box, new, Running.of(raw, port), limits=PATIENT)
    assert states(told)[-1] == "rolled-back", details(told)
    assert restart.standing.problem is not None
    assert restart.standing.problem.title.endswith("not say why: it ended with status 3.")
    assert argv(main_pid()) == list(raw.argv)


async def test_a_drop_in_that_was_there_comes_back(srv: Path, box: BoxedHost) -> None:
    port = serving(srv)
    first = plan(await found(box, port), port, "--tag", "first", SECRET="one")
    _, told = await driven(box, first, Running.of(await found(box, port), port), limits=PATIENT)
    assert states(told)[-1] == "ready", details(told)
    second = plan(await found(box, port), port, "--tag", "second", SGLANG_FAKE_NO_TOKEN="1")
    _, told = await driven(box, second, Running.of(await found(box, port), port), limits=PATIENT)
    assert states(told)[-1] == "rolled-back", details(told)
    assert argv(main_pid()) == list(first.argv)
    assert environ(main_pid())["SECRET"] == "one"


async def test_a_unit_that_restarts_stays_stopped(srv: Path, box: BoxedHost) -> None:
    port = serving(srv)
    raw = await found(box, port)
    _, told = await driven(box, None, Running.of(raw, port), limits=PATIENT)
    assert states(told)[-1] == "stopped"
    assert inside("systemctl", "is-active", UNIT, status=None) == "inactive\n"


async def test_one_that_ignores_sigterm_is_killed_by_systemd(srv: Path, box: BoxedHost) -> None:
    port = serving(srv, more="Environment=SGLANG_FAKE_IGNORE_TERM=1 SGLANG_FAKE_WORKERS=2\n")
    raw = await found(box, port)
    new = replace(plan(raw, port), guard=replace(GUARD, stop_seconds=0.5))
    _, told = await driven(box, new, Running.of(raw, port), limits=PATIENT)
    assert "killing" in states(told)
    assert states(told)[-1] == "ready", details(told)
    assert "SGLANG_FAKE_WORKERS" not in environ(main_pid())


async def test_a_script_between_unit_and_server_hands_its_environment_on(
    srv: Path, box: BoxedHost
) -> None:
    (srv / "run.sh").write_text(
        f'export FROM_SCRIPT="1 2"\n{PYTHON} /srv/sglang/launch_server.py --port $1\n'
    )
    port = serving(srv, start="/bin/sh /srv/run.sh PORT")
    raw = await found(box, port)
    assert raw.pid != main_pid()
    restart, told = await driven(box, plan(raw, port), Running.of(raw, port), limits=PATIENT)
    assert [note.code for note in restart.notes] == ["unit-wrapped"]
    assert states(told)[-1] == "ready", details(told)
    assert environ(main_pid())["FROM_SCRIPT"] == "1 2"


async def test_the_file_that_it_writes_is_its_log(srv: Path, box: BoxedHost) -> None:
    port = serving(srv)
    raw = await found(box, port)
    new = replace(plan(raw, port), log="a log %n; $(x).txt")
    restart, told = await driven(box, new, Running.of(raw, port), limits=PATIENT)
    assert states(told)[-1] == "ready", details(told)
    assert restart.log == "/srv/a log %n; $(x).txt"
    assert "fired up" in (srv / "a log %n; $(x).txt").read_text()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"unit": "nobody.service"}, "unit-not-loaded"),
        ({"environment": {"BELL": "\x07"}}, "unit-cannot"),
        ({"argv": ("/no/python",)}, "no-program"),
        ({"argv": (PYTHON, "\udcff")}, "unit-cannot"),
        ({"workdir": "/nowhere"}, "no-workdir"),
    ],
)
async def test_what_cannot_be_is_said_before_anything_stops(
    srv: Path, box: BoxedHost, change: dict[str, object], code: str
) -> None:
    port = serving(srv)
    raw = await found(box, port)
    new = replace(plan(raw, port), **change)
    restart, told = await driven(box, new, Running.of(raw, port), limits=PATIENT)
    assert states(told) == ["checking", "failed"]
    assert restart.standing.problem is not None
    assert restart.standing.problem.code == code
    assert main_pid() == raw.pid


async def test_another_drop_in_with_the_last_word_is_noticed(srv: Path, box: BoxedHost) -> None:
    port = serving(srv)
    raw = await found(box, port)
    start = f"ExecStart={PYTHON} /srv/sglang/launch_server.py --port {port} --tag admin"
    write(DROP_IN.replace("50-eagletui", "99-admin"), f"[Service]\nExecStart=\n{start}\n")
    inside("systemctl", "daemon-reload")
    restart, told = await driven(box, plan(raw, port), Running.of(raw, port), limits=PATIENT)
    assert restart.standing.problem is not None
    assert restart.standing.problem.code == "unit-overridden"
    assert states(told)[-1] == "rolled-back", details(told)
