"""The folder of a simulated host: its Python with a stand-in sglang, its tools, its home."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

from eagletui.simulator import claimed_files, keeper, nvidia_smi
from eagletui.simulator.releases import Release
from eagletui.simulator.scenarios import Scenario
from eagletui.simulator.server import FOLDER, SETTINGS

# What the person's own machine may have but the simulated host has not.
ABSENT_TOOLS = (
    "docker",
    "podman",
    "journalctl",
    "systemctl",
    "tmux",
    "rocm-smi",
    "amd-smi",
    "crictl",
)
_NEEDED = ("eagletui", "aiohttp", "msgspec")
_ABSENT = """#!/bin/sh
echo "sh: 1: ${0##*/}: not found" >&2
exit 127
"""
_LAUNCH = '''"""Stand-in for SGLang's entry point on a simulated host."""

from eagletui.simulator.server import main

if __name__ == "__main__":
    main()
'''


class Folder:
    """Where things are.

    Args:
        root: an empty folder of our own.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.tools = root / "bin"
        self.venv = root / "opt" / "sglang"
        self.python = self.venv / "bin" / "python"
        self.ssh = root / "ssh"

    def fill(
        self, scenario: Scenario, release: Release, speed: float, ports: dict[int, int]
    ) -> None:
        """Write everything; blocking, about a tenth of a second."""
        for folder in (self.home, self.tools, self.ssh, self.root / "load", self.root / "tmp"):
            folder.mkdir(parents=True)
        settings = {
            "scenario": scenario.name,
            "release": release.version,
            "speed": speed,
            "ports": ports,
        }
        (self.root / SETTINGS).write_text(json.dumps(settings))
        gpu = scenario.gpu
        state = {
            "count": scenario.gpus,
            "name": gpu.name if gpu else "",
            "memory_total": gpu.memory if gpu else 0,
            "idle_power": gpu.idle_power if gpu else 0.0,
            "power_limit": gpu.power_limit if gpu else 1.0,
        }
        (self.root / "gpus.json").write_text(json.dumps(state))
        for plan in scenario.servers:
            (self.home / plan.log).parent.mkdir(parents=True, exist_ok=True)
            for path, config in plan.configs().items():
                self._write_model(path, config)
        self._write_tools()
        self._write_python(release)

    def _write_model(self, path: str, config: Mapping[str, object]) -> None:
        """What a model's folder has to have; an absolute one is found through `claimed_files`."""
        folder = self.root / "files" / path[1:] if path.startswith("/") else self.home / path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")

    def _write_tools(self) -> None:
        base = getattr(sys, "_base_executable", "") or sys.executable
        words = [base, "-I", "-S", str(Path(nvidia_smi.__file__)), str(self.root)]
        self._tool("nvidia-smi", f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        for name in ABSENT_TOOLS:
            self._tool(name, _ABSENT)

    def _tool(self, name: str, text: str) -> None:
        path = self.tools / name
        path.write_text(text)
        path.chmod(0o755)

    def _write_python(self, release: Release) -> None:
        """A real virtual environment whose sglang is ours, found as the real one is."""
        venv.EnvBuilder(symlinks=True, with_pip=False).create(self.venv)
        site = next(self.venv.glob("lib/python*/site-packages"))
        package = site / "sglang"
        package.mkdir()
        (package / "__init__.py").write_text(f'__version__ = "{release.version}"\n')
        (package / "launch_server.py").write_text(_LAUNCH)
        info = site / f"sglang-{release.version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: sglang\nVersion: {release.version}\n"
        )
        shutil.copy(claimed_files.__file__, site / "_claimed_files.py")
        (site / "_claimed_files.pth").write_text("import _claimed_files\n")
        (site / "_eagletui.pth").write_text("".join(f"{path}\n" for path in _import_paths()))

    def environment(self, user: str) -> dict[str, str]:
        """What a login on the host finds; nothing of the person's own environment leaks in."""
        # The environment with SGLang is the one that a login finds first.
        ours = f"{self.tools}:{self.venv / 'bin'}"
        path = f"{ours}:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
        keep = {name: os.environ[name] for name in ("TZ", "LANG", "LC_ALL") if name in os.environ}
        return keep | {
            "HOME": str(self.home),
            "USER": user,
            "LOGNAME": user,
            "SHELL": "/bin/sh",
            "PATH": path,
            "TMPDIR": str(self.root / "tmp"),
            "PYTHONDONTWRITEBYTECODE": "1",
            # One lock a host: the machine that plays it has its own.
            "EAGLETUI_LOCK": str(self.root / "restart.lock"),
            FOLDER: str(self.root),
        }

    def keeper_command(self) -> list[str]:
        """The process that clears away when nobody holds its standard input any more."""
        base = getattr(sys, "_base_executable", "") or sys.executable
        return [base, "-I", "-S", str(Path(keeper.__file__)), str(self.root), FOLDER]


def _import_paths() -> list[str]:
    """Where this program and what it needs are imported from."""
    found: dict[str, None] = {}
    for name in _NEEDED:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            found[str(Path(spec.origin).resolve().parent.parent)] = None
    found.update(dict.fromkeys(path for path in sys.path if path.endswith("site-packages")))
    return list(found)
