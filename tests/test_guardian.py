"""However the tests end, nothing that they started is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import guardian
from tests.control.servers import alive, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

ROOT = Path(__file__).parent.parent
TESTS = """
import subprocess, sys
from tests.guardian import guarded

# One with the mark, left to itself in a session of its own; one that lost the mark, its child.
LEFT = '''
import os, subprocess, sys
words = [sys.executable, "-c", "import time; time.sleep(600)"]
child = subprocess.Popen(words, env={}, start_new_session=True)
print(os.getpid(), child.pid, flush=True)
child.wait()
'''
with guarded():
    subprocess.Popen([sys.executable, "-c", LEFT], start_new_session=True).wait()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_what_was_started_dies_with_the_tests(number: int) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    tests = subprocess.Popen(
        [sys.executable, "-c", TESTS],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert tests.stdout is not None
        pids = [int(word) for word in tests.stdout.readline().split()]
        assert len(pids) == 2
        assert all(map(alive, pids))
        os.killpg(tests.pid, number)
        wait_for(lambda: not any(map(alive, pids)), "they end", 60.0)
        assert alive(stranger.pid)
    finally:
        tests.kill()
        tests.communicate()
        stranger.kill()
        stranger.wait()


def test_the_mark_is_there_as_long_as_it_lasts() -> None:
    before = os.environ.get(guardian.MARK)
    with guardian.guarded() as mark:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        assert guardian.left(mark, os.getsid(0)) == {child.pid}
    assert child.wait() == -signal.SIGKILL
    assert os.environ.get(guardian.MARK) == before
    assert child.stdin is not None
    child.stdin.close()
