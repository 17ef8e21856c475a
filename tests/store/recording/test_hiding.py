"""No secret reaches the disk, and everything else is as it was."""

from __future__ import annotations

import gzip
import tempfile
import zlib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eagletui.model import events as ev
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.literals import Literals
from eagletui.model.server import ServerProcess
from eagletui.store.recording import blocks
from eagletui.store.recording.codec import encode_event
from eagletui.store.recording.hiding import LONGEST, Hiding
from eagletui.store.recording.writer import Writer
from tests.engine.recorded import RECORDINGS
from tests.store.recording.made import ABOUT, KINDS, of

SECRET = "sk-9f8e7d6c5b4a39281706f5e4d3c2b1a0"
LINES = [
    f"[2026-01-20 03:00:00] server_args=ServerArgs(model_path='/m', api_key='{SECRET}', port=1)",
    f"Authorization: Bearer {SECRET}",
    f"a bar ███ 50% and api\x1b[0m_key={SECRET}",
    f"http://ann:{SECRET}@example.org/v1",
    f"HF_TOKEN={SECRET}",
    f"{SECRET} alone",
]


def log(data: bytes, start: int = 0) -> ev.LogText:
    return ev.LogText(at=1.0, server="a", start=start, data=data)


def pieces(data: bytes, cuts: list[int]) -> list[ev.Event]:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [log(data[begin:end], begin) for begin, end in pairwise(edges) if end > begin]


def text_of(events: list[ev.Event]) -> bytes:
    """The text of a log, whose offsets must join."""
    text = b""
    for event in events:
        assert isinstance(event, ev.LogText)
        assert event.start == len(text)
        text += event.data
    return text


def on_disk(path: Path) -> bytes:
    """Everything a file holds, unpacked."""
    data, found = path.read_bytes(), b""
    at = len(blocks.MAGIC)
    while at < len(data):
        head = blocks.read_head(data[at:])
        assert head is not None
        at += blocks.HEAD
        found += zlib.decompress(data[at : at + head.size])
        at += head.size
    return data + found


@given(
    st.lists(st.sampled_from([*LINES, "Decode batch, #token: 160", "", "plain"]), max_size=6),
    st.lists(st.integers(0, 400), max_size=6),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
@settings(max_examples=60, deadline=None)
def test_no_cut_lets_a_secret_through(lines: list[str], cuts: list[int], end: str) -> None:
    data = end.join(lines).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        writer = Writer(path, ABOUT, literals=Literals())
        for event in pieces(data, cuts):
            writer.add(2000.0, [event])
            writer.flush()
        writer.close()
        held = on_disk(path)
    assert SECRET.encode() not in held
    hiding = Hiding()
    shown = text_of([*hiding.take(pieces(data, cuts)), *hiding.rest()])
    assert len(shown) == len(data)
    assert [shown.count(mark) for mark in (b"\n", b"\r")] == [
        data.count(mark) for mark in (b"\n", b"\r")
    ]


@given(
    st.sampled_from(KINDS).flatmap(of),
    st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=12, max_size=24),
    st.lists(st.integers(0, 60), max_size=3),
)
@settings(max_examples=60, deadline=None)
def test_a_known_secret_never_stands_in_an_event(
    event: ev.Event, secret: str, cuts: list[int]
) -> None:
    """Known by its value alone: in a log wherever it is cut, and in any text of any event."""
    literals = Literals([secret])
    if not literals:
        return
    told = f"say {secret} to nobody {secret}"
    hiding = Hiding(literals)
    events: list[ev.Event] = [
        *pieces(told.encode(), cuts),
        event,
        ev.LinkChanged(at=1.0, link="lost", detail=told),
        ev.InfoRead(at=1.0, server="a", args={"x": [{secret: told}]}),
        ev.ServersFound(
            at=1.0,
            servers=(ServerProcess(key="a", argv=("--x", secret), environment={"NCCL_X": told}),),
        ),
    ]
    for shown in [*hiding.take(events), *hiding.rest()]:
        if shown is not event:
            assert secret.encode() not in encode_event(shown)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=6)
def test_what_is_no_secret_stays(kind: type, data: st.DataObject) -> None:
    event = data.draw(of(kind))
    hiding = Hiding()
    shown = [*hiding.take([event]), *hiding.rest()]
    if isinstance(event, ev.LogText) and not event.data:
        assert shown == [event]  # the end of the log was reached
    elif not isinstance(event, ev.LogText):
        assert shown == [event] or "key" in repr(event).lower() or "pass" in repr(event).lower()


def test_every_text_of_every_event_is_looked_at() -> None:
    told = f"api_key={SECRET}"
    events: list[ev.Event] = [
        ev.LinkChanged(at=1.0, link="lost", detail=told, meaning=told, advice=told),
        ev.Diagnosed(
            at=1.0,
            server="a",
            diagnosis=Diagnosis(code="x", severity="info", title="t", evidence=f"one\ntwo {told}"),
        ),
        ev.LaunchBegan(at=1.0, server="a", args={"api_key": SECRET, "x": [{"hf_token": SECRET}]}),
        ev.ServersFound(
            at=1.0,
            servers=(
                ServerProcess(
                    key="a", argv=("--api-key", SECRET, told), environment={"API_KEY": SECRET}
                ),
            ),
        ),
        ev.LogUnavailable(at=1.0, server="a", detail=f"ps -ef --api-key {SECRET}"),
    ]
    for shown in Hiding().take(events):
        assert SECRET.encode() not in encode_event(shown), shown


def test_a_line_without_an_end_is_bounded() -> None:
    hiding = Hiding()
    line = b"x" * (LONGEST - 8) + b" api_key=" + SECRET.encode() + b" " + b"y" * 200_000
    events = [
        *hiding.take(pieces(line + b"\nnext\n", list(range(0, 300_000, 10_000)))),
        *hiding.rest(),
    ]
    shown = text_of(events)
    assert len(shown) == len(line) + 6
    assert SECRET.encode()[:6] not in shown
    assert shown.endswith(b"****\nnext\n")
    assert shown.startswith(b"xxxx")


def test_a_gap_ends_what_was_held() -> None:
    gap = ev.LogGap(at=1.0, server="a", reason="rotated")
    hiding = Hiding()
    shown = list(hiding.take([log(b"one\ntw"), gap, log(b"new\n")]))
    assert shown == [log(b"one\n"), log(b"tw", 4), gap, log(b"new\n")]


@pytest.mark.parametrize("name", ["h200-spec5.log.gz", "cpu-crash-oom.log"])
def test_recorded_logs_stay_as_they_are(name: str) -> None:
    data = (RECORDINGS / name).read_bytes()
    data = gzip.decompress(data) if name.endswith(".gz") else data
    hiding = Hiding()
    shown = text_of([*hiding.take(pieces(data, list(range(0, len(data), 4099)))), *hiding.rest()])
    assert shown == data
