"""The simulated SGLang's `--help`: every option that is known of its release."""

from __future__ import annotations

import asyncio
import lzma
import os
import subprocess
from pathlib import Path

import pytest

from eagletui.engine.flags.help import parse_help, untold
from eagletui.engine.flags.known import flags_of
from eagletui.engine.flags.table import HIDDEN
from eagletui.engine.releases import Version
from eagletui.monitor.preflight import FEW_OPTIONS
from eagletui.simulator.help import help_text
from eagletui.simulator.host import SimulatedHost
from eagletui.simulator.releases import RELEASES

RECORDED = Path(__file__).parent.parent / "recordings" / "help" / "0.5.23.txt.xz"


@pytest.mark.parametrize("release", RELEASES)
def test_every_option_of_the_release_is_told(release: str) -> None:
    known = flags_of(Version(release))
    options = parse_help(help_text(release))
    assert len(options) > FEW_OPTIONS
    assert untold(help_text(release), options) == ()
    told = {flag: option for option in options for flag in option.flags}
    assert set(told) == set(known) - HIDDEN
    for name, option in told.items():
        flag = known.by_name[name]
        assert option.takes_value == (flag.kind != "switch"), name
        assert option.nargs == flag.nargs, name
        assert option.choices == (flag.choices if flag.sure else ()), name


def test_it_reads_as_a_real_one_does() -> None:
    def read(text: str) -> set[object]:
        options = parse_help(text)
        return {(o.flags, o.takes_value, o.nargs, tuple(sorted(o.choices))) for o in options}

    real = lzma.decompress(RECORDED.read_bytes()).decode()
    assert read(help_text("0.5.23")) == read(real)


def test_defaults_that_are_known_are_told() -> None:
    words = " ".join(help_text("0.5.16").split())
    assert "--port PORT (default: 30000)" in words
    assert "--decode-log-interval DECODE_LOG_INTERVAL (default: 40)" in words
    assert "] --model-path MODEL_PATH [" in words


async def test_a_simulated_host_s_python_says_it() -> None:
    async with SimulatedHost("none", speed=400.0) as host:
        assert host._folder is not None
        done = await asyncio.create_subprocess_exec(
            str(host._folder.python), "-m", "sglang.launch_server", "--help",
            env={**os.environ, **host._folder.environment("demo")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        said, wrong = await done.communicate()
    assert (done.returncode, wrong) == (0, b"")
    assert parse_help(said.decode()) == parse_help(help_text(host.release.version))
