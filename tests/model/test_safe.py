"""What a host says, as it is shown: made visible first, masked then, cut last."""

from __future__ import annotations

import pytest

from eagletui.engine.arguments import read_arguments
from eagletui.engine.command import parse_command
from eagletui.engine.diagnosis import diagnosis
from eagletui.engine.http_problems import classify_exception, classify_reply
from eagletui.engine.metrics import MetricsReader, NotMetrics
from eagletui.host.processes import RawServer
from eagletui.model.literals import literals_of
from eagletui.model.safe import excerpt, safe, safe_line
from eagletui.model.secrets import MASK
from eagletui.monitor.servers import describe

COLOURED = [
    ("\x1b[31m--api-key\x1b[0m hunter2 --port 1", f"--api-key {MASK} --port 1"),
    ("HF_TO\x1b[0mKEN=hunter2", f"HF_TOKEN={MASK}"),
    ("api_key='\x1b[1mhun\x1b[0mter2'", f"api_key='{MASK}'"),
    ("pass\x1b]8;;x\x07word: hunter2", f"password: {MASK}"),
]


@pytest.mark.parametrize(("text", "shown"), COLOURED)
def test_colours_hide_nothing_wherever_text_is_shown(text: str, shown: str) -> None:
    data = text.encode()
    assert safe(text) == safe_line(data) == excerpt(data, 200) == shown
    found = diagnosis("x", "error", text, evidence=text, advice=text)
    assert (found.title, found.evidence, found.advice) == (shown, shown, shown)
    assert "hunter2" not in classify_exception(ValueError(text)).detail


def test_lines_are_judged_each_by_itself() -> None:
    assert safe("api_key=hunter2\nport 1") == f"api_key={MASK}·port 1"


def test_a_process_is_masked_as_it_is_seen() -> None:
    argv = ("python", "-m", "sglang.launch_server", "\x1b[1m--api-key\x1b[0m", "hunter2")
    raw = RawServer(
        key="1@1", pid=1, start_ticks=1, argv=argv, environment={"HF_TO\x1b[0mKEN": "hunter2"}
    )
    shown = describe(
        raw, key="k", version="", gpus=(), command=parse_command(argv), secrets=literals_of(argv)
    )
    assert shown.argv[-2:] == ("--api-key", MASK)
    assert shown.environment == {"HF_TOKEN": MASK}
    assert "hunter2" not in repr(shown)


def test_arguments_are_masked_as_they_are_seen() -> None:
    args = read_arguments("ServerArgs(x={'api\\x1b[0m_key': 'hunter2', 'port': 3})")
    assert args["x"] == {"api_key": MASK, "port": 3}


BODIES = [
    (b'{"error":"bad api_key=hunter2secret"}', f'{{"error":"bad api_key={MASK}"}}'),
    (b"\n bad key sk-abcdefghijklmnop12\nmore", f"bad key {MASK}"),
    (b"<p>api_key=hunter2secret</p>", f"<p>api_key={MASK}"),
    (b"x" * 110 + b" sk-abcdefghijklmnopqrst", "x" * 110 + f" {MASK}"),
]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500, 503])
@pytest.mark.parametrize(("body", "shown"), BODIES)
def test_no_reply_gives_a_secret_away(status: int, body: bytes, shown: str) -> None:
    problem = classify_reply(status, body)
    assert problem is not None
    assert problem.detail.startswith(f"HTTP {status} for /metrics: {shown}")
    assert "hunter2" not in problem.detail
    with pytest.raises(NotMetrics) as raised:
        MetricsReader().read(body, at=0.0)
    assert shown in raised.value.meaning
    assert "hunter2" not in raised.value.meaning


def test_an_excerpt_is_cut_after_it_was_masked() -> None:
    assert excerpt(b"abcdef", 6) == "abcdef"
    assert excerpt(b"abcdefg", 6) == "abcde…"
    assert excerpt(b"a: sk-abcdefghijklmnopqrstuvwxyz", 12) == f"a: {MASK}"
