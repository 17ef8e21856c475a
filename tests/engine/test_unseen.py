"""Escape sequences from a host end where text becomes events: no screen has to think of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest

from eagletui.engine.metrics import MetricsReader
from eagletui.engine.reader import LogReader
from eagletui.engine.server_info import read_server_info
from eagletui.model.events import LogText

EVIL = "\x1b[31m\x1b]0;title\x07\u202e\x9b2J"
UNSEEN = set("\x1b\x07\u202e\x9b")
STAMP = "[2026-01-20 02:40:29] "
LINES = (
    f"server_args=ServerArgs(model_path='/m{EVIL}', served_model_name='{EVIL}', x=['{EVIL}'])",
    f"Load weight begin. avail mem=1 GB {EVIL}",
    f"Load weight end. type=Llama{EVIL}",
    f"Decode batch, #running-req: 1{EVIL}, accept len: 1.0",
    "Scheduler hit an exception: Traceback (most recent call last):",
    f'  File "x{EVIL}"',
    f"RuntimeError: CUDA out of memory {EVIL}",
    f"launch_server.py: error: unrecognized arguments: --x{EVIL}",
    f"ModuleNotFoundError: No module named '{EVIL}'",
)


def texts(value: Any) -> Iterator[str]:
    """Every text anywhere in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, msgspec.Struct):
        yield from texts([getattr(value, name) for name in value.__struct_fields__])
    elif isinstance(value, Mapping):
        yield from texts([*value.keys(), *value.values()])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts(item)


def assert_safe(value: Any) -> None:
    assert [text for text in texts(value) if UNSEEN & set(text)] == []


def test_of_a_log() -> None:
    reader = LogReader("s")
    events = []
    for line in LINES:
        prefix = "" if line.startswith(("  File", "Runtime", "launch", "Module")) else STAMP
        events += reader.feed(f"{prefix}{line}\n".encode(), at=1.0)
    events += reader.finish(1.0)
    assert len(events) > 4
    assert_safe([event for event in events if not isinstance(event, LogText)])


@pytest.mark.parametrize("name", ["version", "model_path", "served_model_name"])
def test_of_what_a_server_says_of_itself(name: str) -> None:
    reply = {"model_path": "m", "speculative_algorithm": EVIL, "x": [{EVIL: EVIL}], name: EVIL}
    info = read_server_info(msgspec.json.encode(reply))
    assert info is not None
    assert_safe(info)


def test_of_labels() -> None:
    page = f'sglang:num_running_reqs{{model_name="{EVIL}m",engine_type="{EVIL}u"}} 1\n'
    reading = MetricsReader().read(page.encode(), at=1.0)
    assert (reading.model_name[-1], reading.engine_type[-1]) == ("m", "u")
    assert_safe(reading)
