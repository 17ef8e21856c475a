"""What the host's agent refuses, in words: one row a code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from eagletui.model.diagnosis import Diagnosis
from eagletui.model.finding import Finding, FindingSeverity
from eagletui.model.safe import safe

LOCKED = "locked"
LOST = "lock-lost"
GARBLED = "bad-answer"
"""The agent ended without an answer: it was killed, or its shell says something of its own."""
RUNNER_PATH = "server.runner"
QUIET = 60.0
"""Seconds without a sign of life after which a lock's owner seems to be gone. Its owner gives one
every 15 s (`Limits.renew`), a little later where a host is slow, and so does the host while it does
what it was asked."""


class _Words(NamedTuple):
    title: str
    advice: str = ""


_WORDS: dict[str, _Words] = {
    "gone": _Words("The server (pid {pid}) is no longer there.", "Look again and start anew."),
    "other-user": _Words(
        "The server (pid {pid}) belongs to another user (uid {uid}); it is not touched.",
        "Log in as that user, or ask them.",
    ),
    "own-shell": _Words(
        "The server (pid {pid}) is one that this very session runs in; it is not touched.",
        "Run eagletui from outside of it.",
    ),
    "managed": _Words(
        "The server (pid {pid}) belongs to {manager}, which would start it again behind our back.",
        "eagletui knows docker, podman and systemd services; stop it with what started it.",
    ),
    "unreadable": _Words(
        "Command line and environment of pid {pid} cannot be read ({detail}): it could not be "
        "put back.",
        "Log in as its owner.",
    ),
    "locked": _Words("{lock}", "{lock_advice}"),
    "lock-stuck": _Words(
        "The lock {path} can be neither taken nor removed: {detail}.",
        "Its owner, or root, can remove it: see `ls -ld {path}` on the host.",
    ),
    "lock-busy": _Words(
        "Somebody is starting or stopping a server on this host at this very moment.",
        "Look again in a moment.",
    ),
    "lock-lost": _Words(
        "Somebody took the lock of this host away. {lock}",
        "Look at the host before anything else. When nobody is at it any more, --resume {launch} "
        "goes on with this one.",
    ),
    "no-folder": _Words(
        "{path} cannot be written on the host: {detail}.",
        "What is needed to put a server back is kept there: make it writable for this account.",
    ),
    "disk-full": _Words(
        "The host's disk is full: {path} cannot be written ({detail}).",
        "Make room there, or give the log another place.",
    ),
    "no-log": _Words("The log {path} cannot be opened: {detail}.", "Give `server.log` a place."),
    "no-workdir": _Words("The folder {path} is not there.", "Correct `server.workdir`."),
    "no-program": _Words(
        "The host has no program {path}.", "Correct `server.python` or `server.command`."
    ),
    "not-allowed": _Words(
        "{path} may not be run: permission denied.", "Make it executable, or name another Python."
    ),
    "too-long": _Words(
        "The command line and environment are too long for the host.",
        "Shorten the longest value; a file can hold what is long.",
    ),
    "not-started": _Words(
        "{path} could not be started: {detail}.",
        "Start it by hand on the host: it says more there.",
    ),
    "port-taken": _Words(
        "Port {port} is taken by {holder}.",
        "End that, or choose another port. SGLang itself would notice only after the whole load.",
    ),
    "no-plan": _Words(
        "What was to be started is no longer kept on the host ({path}).",
        "Launch a profile instead.",
    ),
    "no-launch": _Words(
        "The host knows no launch {launch}.", "eagletui --host HOST shows the one that was left."
    ),
    "no-proc": _Words(
        "The host has no /proc: its servers cannot be controlled.", "Only Linux hosts can be."
    ),
    "no-python": _Words(
        "No Python from 3.8 on was found on the host to do the work.",
        "Give `server.python`, or install python3.",
    ),
    "bad-answer": _Words(
        "The host's answer was not understood: {detail}",
        "Log in there and look at its memory, its disk, and what its shell prints at a login.",
    ),
    "script-ignores-flags": _Words(
        "{path} does not look at its arguments: the flags ({flags} …) will have no effect.",
        'Let it pass them on: end it with `exec python -m sglang.launch_server "$@"`.',
    ),
    "command-flags": _Words(
        "{path} is given the flags as its arguments; what it does with them is its own business."
    ),
    "no-tool": _Words(
        "The host has no {tool}: {detail}.", "Install it, or add its folder to PATH."
    ),
    "tool-hangs": _Words(
        "{tool} did not end within {seconds} s.", "Look at its daemon on the host."
    ),
    "no-docker": _Words(
        "The host has neither docker nor podman in its PATH.", "Install it, or add its folder."
    ),
    "docker-not-allowed": _Words(
        "This account may not use docker: {detail}",
        "Join the group docker (`usermod -aG docker USER`, then log in anew), or log in as root.",
    ),
    "docker-not-running": _Words("Docker does not answer: {detail}", "Start its daemon."),
    "docker-failed": _Words(
        "docker {what} failed: {detail}", "Try it by hand on the host: `docker {what}`."
    ),
    "no-container": _Words(
        "There is no container {container}.",
        "Correct `server.container`: `docker ps --all` lists their names.",
    ),
    "container-busy": _Words(
        "The container {container} runs something else than the server that is replaced.",
        "Choose the server that runs in it, or name another container.",
    ),
    "container-managed": _Words(
        "The container {container} belongs to {who}, which would make it anew by itself.",
        "Change the server there.",
    ),
    "container-in-unit": _Words(
        "The container {container} was started by the systemd unit {unit}, which would start it "
        "again behind our back.",
        "Change the unit's own command line, and restart it by systemctl.",
    ),
    "container-port": _Words(
        "Port {port} of the container leads nowhere outside; published are: {published}.",
        "Keep the server's port: what a container publishes is part of what is kept.",
    ),
    "container-differs": _Words(
        "The new container would not be as the old one in: {settings}.",
        "Nothing was changed. Make it by hand, and report this, please.",
    ),
    "container-not-started": _Words(
        "The container {container} does not run: {detail}.", "See `docker logs {container}`."
    ),
    "container-removes-itself": _Words(
        "The container {container} was started with --rm and is gone once it stops; to put it back "
        "it would be made anew, without what was written inside it."
    ),
    "container-left": _Words(
        "The container {container} stays stopped, and the new server runs beside it.",
        'Set `runner = "docker"` and `container = "{container}"` to replace it.',
    ),
    "container-of-compose": _Words(
        "Compose project {project} made this container (service {service}); the next `docker "
        "compose up` that finds its file changed makes it anew, without these settings.",
        "Change the compose file too.",
    ),
    "container-loses": _Words(
        "The new container will do without what cannot be carried over: {settings}."
    ),
    "container-wrapped": _Words(
        "The container starts `{starts}`, which starts the server; the new one starts the server "
        "itself, with the environment that it has now."
    ),
    "no-systemd": _Words(
        "The host has no systemctl: {unit} cannot be started or stopped.",
        "Choose another runner.",
    ),
    "no-user-manager": _Words(
        "The systemd manager of this user does not answer, so {unit} cannot be reached: {detail}",
        "Log in as the unit's own user, by ssh and not by su, or let it linger: "
        "`loginctl enable-linger USER`.",
    ),
    "unit-failed": _Words(
        "systemctl {what} of {unit} failed: {detail}", "See `systemctl status {unit}`."
    ),
    "unit-not-allowed": _Words(
        "This account may not start and stop {unit}: {detail}",
        "Units of the system need root, or a rule of polkit. Nothing was changed.",
    ),
    "unit-not-loaded": _Words(
        "systemd does not know the unit {unit} ({state}).",
        "Correct `server.unit` and `server.user-unit`.",
    ),
    "unit-read-only": _Words(
        "The drop-in cannot be written to {path}: {detail}.",
        "Units of the system need root, and an /etc that is not read-only.",
    ),
    "unit-type": _Words(
        "{unit} is a service of the type {type}: its main process is not what it starts.",
        "Give it Type=exec or simple.",
    ),
    "unit-busy": _Words(
        "{unit} runs something else (pid {pid}) than the server that is replaced.",
        "Choose the server that it runs, or name another unit.",
    ),
    "unit-cannot": _Words(
        "systemd cannot be told {what}: it holds what unit files do not take.",
        "Rename it, or use another runner.",
    ),
    "unit-is-transient": _Words(
        "{unit} was made by systemd-run and is gone once it stops: there is nothing to change.",
        "Write a unit file, or use another runner.",
    ),
    "unit-not-started": _Words("{unit} does not run: {detail}.", "See `systemctl status {unit}`."),
    "unit-overridden": _Words(
        "{unit} starts something else than its drop-in of eagletui says: another drop-in has the "
        "last word.",
        "See `systemctl cat {unit}`.",
    ),
    "unit-transient": _Words(
        "{unit} was made by systemd-run and is gone once it stops; it would come back as a plain "
        "process."
    ),
    "unit-left": _Words(
        "{unit} stays stopped until the next boot, and the new server is no part of it.",
        'Set `runner = "systemd"` and `unit = "{unit}"` to change the unit.',
    ),
    "unit-without-linger": _Words(
        "{unit} ends with the last login of {user}.", "`loginctl enable-linger {user}` keeps it."
    ),
    "unit-wrapped": _Words(
        "{unit} starts a script, which starts the server; from now on it starts the server itself, "
        "with the environment that it has now."
    ),
    "agent": _Words(
        "Looking after the host failed by a fault of eagletui's own: {detail}.",
        "Report this, please. Something of what is kept under ~/.local/state/eagletui on the host "
        "may be damaged.",
    ),
    "damaged": _Words(
        "What the host keeps of launch {launch} cannot be read: {detail}.",
        "It is damaged, or another version of eagletui wrote it: go on with that one.",
    ),
    "system": _Words(
        "The host refused: {detail}.", "Log in as the same user and try what it did by hand."
    ),
}


def note_words(note: Mapping[str, Any]) -> Finding:
    """What the agent found that stops nothing."""
    found = problem(str(note["code"]), note)
    severity: FindingSeverity = "info" if note.get("severity") == "info" else "warning"
    return Finding(
        code=found.code,
        severity=severity,
        path=RUNNER_PATH,
        message=found.title,
        advice=found.advice,
    )


def refusal(found: Diagnosis) -> Finding:
    """What stands in the way, as a check would say it."""
    return Finding(
        code=found.code,
        severity="error",
        path=RUNNER_PATH,
        message=found.title,
        advice=found.advice,
    )


def problem(code: str, about: Mapping[str, Any]) -> Diagnosis:
    """The verdict for a refusal of the agent."""
    words = _WORDS.get(code, _WORDS["system"])
    values = {"detail": code, **about}
    if "held" in about:
        path = str(about.get("path", ""))
        values["lock"], values["lock_advice"] = lock_words(about["held"], path)
    if isinstance(about.get("holder"), Mapping):
        values["holder"] = holder_words(about["holder"])
    texts = _Lenient({key: safe(str(value))[:400] for key, value in values.items()})
    return Diagnosis(
        code=code,
        severity="error",
        title=words.title.format_map(texts),
        advice=words.advice.format_map(texts),
    )


class _Lenient(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


def holder_words(holder: Mapping[str, Any]) -> str:
    """Who listens on a port."""
    if not holder.get("pid"):
        return "a process that cannot be seen (another user's)"
    return f"pid {holder['pid']} ({safe(str(holder.get('title', '')))})"


def lock_words(held: Mapping[str, Any] | None, path: str = "") -> tuple[str, str]:
    """Who holds the lock, and what can be done about it."""
    if held is None:
        return f"Nobody has it now: {path} is gone.", ""
    if held.get("damaged"):
        return (
            f"The lock {path} is there, but it is nothing that eagletui writes.",
            "Look at it on the host; --break-lock removes it where it is a file.",
        )
    who = f"{held.get('user', 'somebody')}@{held.get('host', '?')}"
    what = held.get("what") or "a restart"
    launch = held.get("launch", "?")
    if held.get("gone"):
        return f"{who} was in the middle of {what} on this host, and that eagletui is gone.", (
            f"Go on with it: eagletui launch --resume {launch} …, or U on the screen. Or start "
            "anew with --break-lock; what it started stays as it is."
        )
    quiet = float(held.get("quiet", 0.0))
    title = f"{who} is in the middle of {what} on this host; last sign of life {quiet:.0f} s ago."
    if quiet < QUIET:
        return title, "Wait for it, or watch it; --break-lock takes the lock away from them."
    return title, (
        f"Their eagletui seems to be gone. Go on with it by --resume {launch}, or take the lock "
        "away with --break-lock; what was started stays as it is."
    )


def left_words(left: list[Mapping[str, Any]]) -> str:
    """Processes that are still there."""
    shown = [
        f"{row['pid']} {safe(str(row.get('title', '')))}"
        + (" (orphan)" if row.get("orphan") else "")
        for row in left[:8]
    ]
    more = f" and {len(left) - 8} more" if len(left) > 8 else ""
    return ", ".join(shown) + more
