"""What a Python's own records say of SGLang and what belongs to it."""

from __future__ import annotations

import json
import shlex
import venv
from pathlib import Path

import pytest

from eagletui.host.local import LocalHost
from eagletui.host.processes import RawServer
from eagletui.host.versions import installed_versions, sglang_version

INSTALLED = {
    "sglang": "0.5.16.post1",
    "torch": "2.9.1+cu128",
    "flashinfer_python": "0.5.3",
    "nvidia-nccl-cu12": "2.27.5",
    "nvidia_cuda_runtime_cu12": "12.8.90",
    "sglang-kernel": "0.3.0",
    "numpy": "2.3.1",
}


def server(python: Path) -> RawServer:
    return RawServer(key="x", pid=2**22 + 1, start_ticks=1, argv=("x",), python=str(python))


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An interpreter with all of that."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(tmp_path)
    site = next(tmp_path.glob("lib/python*/site-packages"))
    for name, version in INSTALLED.items():
        info = site / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return tmp_path / "bin" / "python"


async def test_a_python_tells_what_it_has(python: Path) -> None:
    assert await installed_versions(LocalHost(), str(python)) == {
        "sglang": "0.5.16.post1", "torch": "2.9.1+cu128", "flashinfer-python": "0.5.3",
        "nccl": "2.27.5", "cuda": "12.8.90",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "version"),
    [
        (json.dumps({"sglang": "0.5.9"}), "0.5.9"),
        (json.dumps({"sglang": "0.5.9\x1b[31m"}), ""),
        (json.dumps({"sglang": 5}), ""),
        (json.dumps(["sglang"]), ""),
        ("0.5.9", ""),
        ("[" * 5000, ""),
        ("", ""),
    ],
    ids=["a version", "control", "number", "list", "no JSON", "deep", "nothing"],
)
async def test_a_python_that_says_something_else_tells_nothing(
    tmp_path: Path, said: str, version: str
) -> None:
    """Both who watches and who measures ask in the same words, and read them alike."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f"#!/bin/sh\nprintf %s {shlex.quote(said)}\n")
    python.chmod(0o755)
    assert await sglang_version(LocalHost(), server(python)) == version
    python.write_text(f"#!/bin/sh\nprintf %s {shlex.quote(said)}\nexit 1\n")
    assert await sglang_version(LocalHost(), server(python)) == ""
