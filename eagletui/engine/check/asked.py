"""What a host is to be asked before a start; nothing is asked here."""

from __future__ import annotations

import posixpath
import re

from eagletui.engine.check.environment import files
from eagletui.engine.check.situation import Situation
from eagletui.engine.flags.argv import split_command
from eagletui.engine.flags.known import LISTED_RELEASE
from eagletui.engine.releases import Version
from eagletui.model.base import Data
from eagletui.model.finding import HostFacts
from eagletui.model.profile import StartPlan

_PYTHON = re.compile(r"python(?:\d+(?:\.\d+)*)?")
_PLAIN = "python3"
# Flags whose value is a file that must be there.
_FILE_FLAGS = (
    "--speculative-adaptive-config",
    "--speculative-token-map",
    "--speculative-dspark-sps-table-path",
    "--config",
    "--ssl-keyfile",
    "--ssl-certfile",
)
_CHAT = "--chat-template"
# What decides which Python a word is, and what it finds to import.
_PYTHON_VARIABLES = (
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUSERBASE",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
)


class Question(Data, frozen=True):
    """What to find out about a host for one start.

    Attributes:
        python: the interpreter to ask with.
        environment: what it has to be called with, to find what the server will find.
        sglang: whether that interpreter is the one that runs the server.
        target, draft: paths or names as the command line has them; "" where there is none.
        address, port: where the server will listen.
        workdir, log: as in the plan.
        files: paths that must be readable.
        pids: processes whose names are wanted.
    """

    python: str
    sglang: bool
    environment: tuple[tuple[str, str], ...] = ()
    target: str = ""
    draft: str = ""
    address: str = "127.0.0.1"
    port: int = 30000
    workdir: str = ""
    log: str = ""
    files: tuple[str, ...] = ()
    pids: tuple[int, ...] = ()


def question(plan: StartPlan) -> Question:
    """What this start makes worth knowing."""
    situation = Situation(plan, Version(LISTED_RELEASE), HostFacts())
    python = interpreter(plan.argv)
    inside = plan.runner == "docker"
    named = [value for flag in _FILE_FLAGS if (value := situation.text(flag))]
    template = situation.text(_CHAT) or ""
    if "/" in template or template.endswith((".jinja", ".json")):
        named.append(template)
    # What lies in a container is not what lies on its host.
    seen = not inside
    return Question(
        python=python or _PLAIN,
        sglang=python is not None and seen,
        environment=tuple(
            (name, plan.environment[name])
            for name in _PYTHON_VARIABLES
            if name in plan.environment and seen
        ),
        target=(situation.text("--model-path") or "") if seen else "",
        draft=(situation.drafting.draft or "") if seen else "",
        address=situation.text("--host") or "127.0.0.1",
        port=plan.port,
        workdir=plan.workdir,
        log=plan.log,
        files=tuple(dict.fromkeys([*files(situation), *named])) if seen else (),
    )


def interpreter(argv: tuple[str, ...]) -> str | None:
    """The Python that runs the server, None where the command does not tell."""
    command, _ = split_command(argv)
    for word in command:
        if _PYTHON.fullmatch(posixpath.basename(word)):
            return word
    for word in command:
        if posixpath.basename(word) == "sglang" and posixpath.isabs(word):
            return posixpath.join(posixpath.dirname(word), "python")
    return None
