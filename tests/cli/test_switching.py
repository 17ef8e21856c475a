"""The switcher over real processes of this machine: menu, preview, restart, and back."""

from __future__ import annotations

import errno
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from eagletui.cli import profile_edit
from eagletui.cli.switching import HostSwitcher
from eagletui.control.api import Limits, Running
from eagletui.engine.flagwords import same_flag
from eagletui.host.local import LocalHost
from eagletui.model.errors import EagletuiError
from eagletui.model.profile import StartPlan
from eagletui.model.switching import (
    PARTS,
    Change,
    Choice,
    Measured,
    Moment,
    ProfileTaken,
    SwitchRefused,
)
from eagletui.store.installations import InstallationMemory
from eagletui.store.launches import LaunchMemory
from eagletui.store.places import profiles_folder
from eagletui.store.profiles.shelf import Profiles
from tests.control.conftest import host, servers
from tests.control.servers import Servers, alive, argv, environ

__all__ = ["host", "servers"]
QUICK = Limits(settle=0.3, orphans=0.5, gone=20.0, poll=0.1, lost=5.0, stall=5.0, kill=5.0)
SECRET = "s3cret-of-the-server"
FILES = {
    "chain-3": "[speculative]\nnum-steps = 3\n",
    "chain-5": "[speculative]\nnum-steps = 5\n",
    "ring": '[environment]\nNCCL_ALGO = "Ring"\n',
    "tagged": '[server.flags]\ntag = "new"\n[guard]\ndrain-seconds = 1\n',
    "guarded": "[environment]\nNCCL_PROTO = 'LL'\n[guard]\nread-only = true\n",
    "dies": "[environment]\nSGLANG_X = '1'\nSGLANG_FAKE_DIE = 'shards'\n"
    "[guard]\nroll-back = 'always'\n",
    "broken": "[server\n",
}


@pytest.fixture
def switcher(host: LocalHost, tmp_path: Path) -> HostSwitcher:
    folder = tmp_path / "profiles"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / f"{name}.toml").write_text(text)
    return HostSwitcher(
        host,
        profiles=Profiles([folder], same_flag),
        installations=InstallationMemory(tmp_path / "installations"),
        launches=LaunchMemory(tmp_path / "launches.json"),
        limits=QUICK,
    )


def started(servers: Servers) -> Running:
    return servers.start("--speculative-num-steps", "3", "--api-key", SECRET, NCCL_ALGO="Tree")


def another(switcher: HostSwitcher) -> HostSwitcher:
    """The switcher of another eagletui on the same host, which knows nothing of this one."""
    return HostSwitcher(
        switcher._host,
        profiles=switcher._profiles,
        installations=switcher._host_says._installations,
        launches=switcher._launches,
        limits=QUICK,
    )


def moments_name(state: dict[str, Any]) -> str:
    return str(state["profile"])


def read(path: str) -> str:
    return Path(path).read_text()


def write(path: str, text: str) -> None:
    Path(path).write_text(text)


async def driven(switcher: HostSwitcher, choice: Choice) -> list[Moment]:
    return [moment async for moment in switcher.begin(choice)]


async def test_the_menu_marks_what_runs_and_tells_what_is_broken(
    servers: Servers, switcher: HostSwitcher
) -> None:
    old = started(servers)
    menu = await switcher.menu(old.pid)
    assert [row.name for row in menu.servers] == ["", "tagged"]
    assert [(row.name, row.runs) for row in menu.speculative] == [
        ("", True),
        ("chain-3", True),
        ("chain-5", False),
    ]
    assert [row.name for row in menu.environments] == ["", "dies", "guarded", "ring"]
    assert len(menu.problems) == 1
    assert "broken.toml" in menu.problems[0]
    assert menu.back == ""


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('unset = ["NCCL_*"]', "environment"),
        ('unset = ["--speculative-*"]', "speculative"),
        ('unset = ["--no-such-flag"]', "server"),
        ("[guard]\nroll-back = 'always'", "server"),
        ("[guard]\nprotected = true\n[environment]\nNCCL_ALGO = 'Ring'", "environment"),
        ("title = 'nothing but a title'", None),
    ],
)
async def test_what_only_takes_away_or_guards_is_never_said_to_run(
    servers: Servers, switcher: HostSwitcher, tmp_path: Path, text: str, place: str | None
) -> None:
    (tmp_path / "profiles" / "odd.toml").write_text(text + "\n")
    old = servers.start()
    menu = await switcher.menu(old.pid)
    found = [(part, row.runs) for part in PARTS for row in menu.rows(part) if row.name == "odd"]
    assert found == ([] if place is None else [(place, False)])


async def test_what_takes_nothing_away_but_sets_the_same_runs(
    servers: Servers, switcher: HostSwitcher, tmp_path: Path
) -> None:
    both = 'unset = ["NCCL_*"]\n[environment]\nNCCL_ALGO = "Tree"\n'
    (tmp_path / "profiles" / "both.toml").write_text(both)
    off = "[speculative]\noff = true\n"
    (tmp_path / "profiles" / "off.toml").write_text(off)
    old = servers.start(NCCL_ALGO="Tree")
    menu = await switcher.menu(old.pid)
    assert [row.name for row in menu.environments if row.runs] == ["", "both"]
    assert [row.name for row in menu.speculative if row.runs] == ["", "off"]


async def test_what_was_measured_of_a_combination_is_told_with_it(
    servers: Servers, switcher: HostSwitcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Measured(name="k5", began=1.0, concurrency=1, tok_s=344.0)

    class Known:
        forgotten = 0

        def forget(self) -> None:
            self.forgotten += 1

        def last(self, plan: StartPlan) -> Measured | None:
            return told if "5" in plan.argv else None

    known = Known()
    monkeypatch.setattr(switcher, "_measured", known)
    await switcher.menu(started(servers).pid)
    assert known.forgotten == 1
    assert (await switcher.preview(Choice(), ask=False)).measured is None
    chain5 = await switcher.preview(Choice(speculative="chain-5"), ask=False)
    assert chain5.measured == told


async def test_the_difference_is_exact_and_no_secret_leaves(
    servers: Servers, switcher: HostSwitcher
) -> None:
    old = started(servers)
    await switcher.menu(old.pid)
    choice = Choice(speculative="chain-5", environment="ring")
    quick = await switcher.preview(choice, ask=False)
    asked = await switcher.preview(choice, ask=True)
    assert (quick.asked, asked.asked) == (False, True)
    for preview in (quick, asked):
        assert preview.changes == (
            Change(where="flag", name="--speculative-num-steps", before="3", after="5"),
            Change(where="environment", name="NCCL_ALGO", before="Tree", after="Ring"),
        )
        assert (preview.replaces, preview.port) == (old.pid, servers.port)
        assert SECRET not in repr(preview)
        assert "--api-key" in preview.command
    assert SECRET not in repr(switcher.__dict__)
    again = await switcher.preview(choice, ask=False)
    assert again.asked, "what the host said once is not asked again"


async def test_a_switch_keeps_the_secret_and_b_goes_back(
    servers: Servers, switcher: HostSwitcher
) -> None:
    old = started(servers)
    await switcher.menu(old.pid)
    choice = Choice(server="tagged", speculative="chain-5")
    await switcher.preview(choice, ask=True)
    moments = await driven(switcher, choice)
    assert moments[-1].standing.state == "ready"
    assert moments[-1].name.endswith("+tagged+chain-5")
    [state] = servers.launches()
    new = state["new"]["pid"]
    words = argv(new)
    assert words[words.index("--speculative-num-steps") + 1] == "5"
    assert words[words.index("--api-key") + 1] == SECRET
    assert words[words.index("--tag") + 1] == "new"
    assert environ(new)["NCCL_ALGO"] == "Tree"
    servers.reap()
    assert not alive(old.pid)

    switcher = another(switcher)  # eagletui was started anew
    menu = await switcher.menu(new)
    assert menu.back == "what ran before"
    back = Choice(back=True)
    preview = await switcher.preview(back, ask=True)
    assert [(change.name, change.before, change.after) for change in preview.changes] == [
        ("--speculative-num-steps", "5", "3"),
        ("--tag", "new", None),
    ]
    assert SECRET not in repr(preview)
    assert preview.before is not None
    assert (preview.before.ours, preview.name) == (False, "what ran before")
    assert abs(preview.before.at - state["began"]) < 5.0
    moments = await driven(switcher, back)
    assert moments[-1].standing.state == "ready"
    running = next(s["new"]["pid"] for s in servers.launches() if alive(s["new"]["pid"]))
    assert argv(running) == list(old.argv)
    assert environ(running)["NCCL_ALGO"] == "Tree"

    menu = await switcher.menu(running)
    assert menu.back == moments_name(state), "and from there to what was left for it"


async def test_as_it_runs_now_is_a_plain_restart_with_the_whole_environment(
    servers: Servers, switcher: HostSwitcher
) -> None:
    old = started(servers)
    await switcher.menu(old.pid)
    assert (await switcher.preview(Choice(), ask=True)).changes == ()
    moments = await driven(switcher, Choice())
    assert moments[-1].standing.state == "ready"
    [state] = servers.launches()
    assert argv(state["new"]["pid"]) == list(old.argv)
    assert environ(state["new"]["pid"])["WAS_HERE"] == "before"


async def test_what_fails_gives_way_to_what_ran_before(
    servers: Servers, switcher: HostSwitcher
) -> None:
    old = started(servers)
    await switcher.menu(old.pid)
    choice = Choice(environment="dies")
    await switcher.preview(choice, ask=True)
    moments = await driven(switcher, choice)
    assert moments[-1].standing.state == "rolled-back"
    assert (await switcher.menu(None)).back == ""
    [state] = servers.launches()
    assert argv(state["back"]["pid"]) == list(old.argv)


async def test_what_cannot_be_started_says_so(servers: Servers, switcher: HostSwitcher) -> None:
    old = started(servers)
    await switcher.menu(old.pid)
    preview = await switcher.preview(Choice(environment="guarded"), ask=True)
    assert "read-only" in preview.problem
    with pytest.raises(SwitchRefused):
        await driven(switcher, Choice(environment="guarded"))
    await switcher.menu(None)
    preview = await switcher.preview(Choice(), ask=True)
    assert preview.problem.startswith("No server runs here")
    assert alive(old.pid)


async def test_one_at_a_time_and_what_is_left_is_found_and_gone_on_with(
    servers: Servers, switcher: HostSwitcher
) -> None:
    old = started(servers)
    await switcher.menu(old.pid)
    choice = Choice(speculative="chain-5")
    await switcher.preview(choice, ask=True)
    stream = switcher.begin(choice)
    async for moment in stream:
        if moment.standing.state == "loading":
            with pytest.raises(SwitchRefused) as refused:
                await driven(switcher, choice)
            assert "chain-5 is being started" in refused.value.what
            break
    await stream.aclose()
    [left] = await switcher.unfinished()
    assert left.standing.state in ("starting", "loading")
    assert left.busy == ""
    assert left.name.endswith("+chain-5")
    moments = [moment async for moment in switcher.resume(left.launch)]
    assert moments[-1].standing.state == "ready"
    assert await switcher.unfinished() == ()
    assert await switcher.lock() is None


async def test_a_lock_that_no_eagletui_wrote_is_told_as_that_and_broken_alone(
    servers: Servers, switcher: HostSwitcher
) -> None:
    old = started(servers)
    await switcher.menu(old.pid)
    choice = Choice(speculative="chain-5")
    await switcher.preview(choice, ask=False)
    servers.lock.write_text("what?")
    lock = await switcher.lock()
    assert lock is not None
    assert lock.damaged
    # Somebody else breaks it first: that is not what was shown.
    servers.lock.unlink()
    held = {"user": "bob", "host": "desk", "launch": "other", "session": "b", "what": "x"}
    servers.lock.write_text(json.dumps(held))
    last = [moment async for moment in switcher.begin(choice, break_lock=True)][-1]
    assert last.standing.problem is not None
    assert "bob@desk" in last.standing.problem.title
    assert json.loads(servers.lock.read_text()) == held
    lock = await switcher.lock()
    assert lock is not None
    assert not lock.damaged
    assert alive(old.pid)


async def test_another_s_lock_is_told_and_broken_only_when_asked_for(
    servers: Servers, switcher: HostSwitcher
) -> None:
    old = started(servers)
    await switcher.menu(old.pid)
    choice = Choice(speculative="chain-5")
    await switcher.preview(choice, ask=True)
    held = {"user": "bob", "host": "desk", "launch": "other", "what": "launching 5/6"}
    servers.lock.write_text(json.dumps({**held, "time": time.time() - 300}))
    moments = await driven(switcher, choice)
    problem = moments[-1].standing.problem
    assert (moments[-1].standing.state, problem and problem.code) == ("failed", "locked")
    lock = await switcher.lock()
    assert lock is not None
    assert (lock.who, lock.what, lock.stale) == ("bob@desk", "launching 5/6", False)
    assert lock.since is not None
    assert abs(time.time() - 300 - lock.since) < 5.0
    os.utime(servers.lock, (1, 1))
    stale = await switcher.lock()
    assert stale is not None
    assert stale.stale
    assert alive(old.pid)
    os.utime(servers.lock)  # they were held up, and live: what was said of them is not true
    moments = [moment async for moment in switcher.begin(choice, break_lock=True)]
    problem = moments[-1].standing.problem
    assert (moments[-1].standing.state, problem and problem.code) == ("failed", "locked")
    assert alive(old.pid)
    os.utime(servers.lock, (1, 1))
    await switcher.lock()
    moments = [moment async for moment in switcher.begin(choice, break_lock=True)]
    assert moments[-1].standing.state == "ready"
    assert not servers.lock.exists()


async def test_what_runs_is_kept_as_a_profile_without_its_secret(
    servers: Servers, switcher: HostSwitcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    monkeypatch.setattr(profile_edit, "profiles_folder", lambda: folder)
    old = started(servers)
    name = await switcher.profile_name(old.pid)
    kept = await switcher.keep(old.pid, "mine")
    assert (name, kept.path) == ("imported", str(folder / "mine.toml"))
    text = read(kept.path)
    assert SECRET not in text + repr(kept)
    assert "num-steps = 3" in text
    assert any("export API_KEY" in note for note in kept.notes)

    write(kept.path, "# mine\n")
    with pytest.raises(ProfileTaken, match=r"mine\.toml") as taken:
        await switcher.keep(old.pid, "mine")
    assert taken.value.path == kept.path
    assert read(kept.path) == "# mine\n"
    await switcher.keep(old.pid, "mine", over=True)
    assert read(kept.path) == text


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC])
async def test_a_profiles_folder_that_cannot_be_written_is_said(
    servers: Servers, switcher: HostSwitcher, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(profile_edit, "write_whole", refused)
    old = started(servers)
    with pytest.raises(EagletuiError, match=os.strerror(number)) as said:
        await switcher.keep(old.pid, "mine")
    assert said.value.what.startswith(f"{profiles_folder() / 'mine.toml'} cannot be written")
    assert "XDG_CONFIG_HOME" in said.value.advice


async def test_a_server_that_nobody_was_shown_is_not_stopped(
    servers: Servers, switcher: HostSwitcher
) -> None:
    """Two people open the switcher; the second one's yes was meant for the server before."""
    old = started(servers)
    bob = another(switcher)
    choice = Choice(speculative="chain-5")
    for one in (switcher, bob):
        await one.menu(old.pid)
        assert (await one.preview(choice, ask=True)).replaces == old.pid
    assert (await driven(switcher, choice))[-1].standing.state == "ready"
    servers.reap()
    [new] = servers.mine()
    with pytest.raises(SwitchRefused, match=rf"Another server .* \(pid {new}\)"):
        await driven(bob, choice)
    assert alive(new)
    await bob.menu(new)
    assert (await bob.preview(choice, ask=True)).replaces == new
