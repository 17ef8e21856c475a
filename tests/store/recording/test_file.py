"""The file: what was written comes back, however it is cut, damaged, or written by a newer one."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eagletui.model import events as ev
from eagletui.model.errors import EagletuiError
from eagletui.store.recording import blocks
from eagletui.store.recording.codec import About, Frame, decode_frames, encode_event, encode_frames
from eagletui.store.recording.reader import Recording
from eagletui.store.recording.recorder import Recorder
from eagletui.store.recording.writer import Limits, Writer
from tests.store.recording.made import ABOUT, KINDS, of, write

TEXT = "2026-01-20 03:00:00 Load weight begin."


def batches(count: int = 4) -> list[tuple[float, list[ev.Event]]]:
    """A few small batches a second apart."""
    return [
        (
            1000.0 + number,
            [
                ev.PhaseMoved(at=1000.0 + number, server="a", name="weights", done=number, total=9),
                ev.LogText(
                    at=1000.0 + number, server="a", start=6 * number, data=b"line%d\n" % number
                ),
            ],
        )
        for number in range(count)
    ]


def frames_of(path: Path) -> list[Frame]:
    with Recording(path) as recording:
        return list(recording)


def opened(path: Path) -> tuple[Recording | None, Any]:
    """A recording and its batches, or None and why it can't be read."""
    try:
        with Recording(path) as recording:
            return recording, [(frame.at, list(frame.events)) for frame in recording]
    except EagletuiError as error:
        return None, error.what


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=8)
def test_every_event_comes_back(kind: type, data: st.DataObject) -> None:
    event = data.draw(of(kind))
    found = decode_frames(encode_frames([(1.5, [encode_event(event)])]))
    assert found is not None
    assert found.skipped == 0
    assert found.frames == [Frame(1.5, (event,))]
    assert type(found.frames[0].events[0]) is kind


@pytest.mark.parametrize(
    ("value", "kept"),
    [("half \ud800", "half ?"), (2**70, float(2**70)), (10**400, "True"), ({1, 2}, [1, 2])],
)
def test_what_no_format_carries_is_rewritten(value: Any, kept: Any) -> None:
    event = ev.InfoRead(at=1.0, server="a", args={"x": value})
    found = decode_frames(encode_frames([(1.0, [encode_event(event)])]))
    assert found is not None
    assert found.frames[0].events == (ev.InfoRead(at=1.0, server="a", args={"x": kept}),)


def test_a_file_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    writer = write(path, batches(), each=True)
    assert writer.size == path.stat().st_size
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with Recording(path) as recording:
        assert recording.about == ABOUT
        assert (recording.begin, recording.end) == (1000.0, 1003.0)
        assert (recording.count, recording.events, recording.skipped) == (4, 8, 0)
        assert [(frame.at, list(frame.events)) for frame in recording] == batches()
        assert recording.ending is not None
        assert (recording.ending.reason, recording.ending.at) == ("closed", 1003.0)
        assert recording.problem == ""
        assert [recording.block_at(at) for at in (0.0, 999.0, 1000.0, 1001.5, 1003.0)] == [
            0, 0, 1, 2, 4,
        ]  # fmt: skip


def test_time_never_goes_back(tmp_path: Path) -> None:
    gone = ev.ServerGone(at=1.0, server="a")
    write(tmp_path / "a", [(5.0, [gone]), (1500.0, [gone]), (1400.0, [gone])])
    assert [frame.at for frame in frames_of(tmp_path / "a")] == [1000.0, 1500.0, 1500.0]


def test_cut_at_every_byte(tmp_path: Path) -> None:
    path, cut = tmp_path / "a.rec", tmp_path / "cut.rec"
    write(path, batches(3), each=True)
    data = path.read_bytes()
    counts: list[int] = []
    for length in range(len(data)):
        cut.write_bytes(data[:length])
        recording, found = opened(cut)
        if recording is None:
            assert "cut or damaged" in found or "is empty" in found or "ends in" in found
            assert not counts, "what could be read once can be read with more bytes"
        else:
            assert found == batches(3)[: len(found)]
            assert recording.ending is None
            counts.append(len(found))
    assert counts == sorted(counts)
    assert set(counts) == {0, 1, 2, 3}


def test_any_damaged_byte_is_noticed(tmp_path: Path) -> None:
    path, bad = tmp_path / "a.rec", tmp_path / "bad.rec"
    write(path, batches(3), each=True)
    data = path.read_bytes()
    for at in range(len(data)):
        bad.write_bytes(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
        recording, found = opened(bad)
        if recording is None:
            assert "is no recording" in found or "damaged" in found
        else:
            assert found == batches(3)[: len(found)]
            assert recording.ending is None or (recording.problem and len(found) < 3)


def test_a_damaged_block_ends_it_and_says_where(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    write(path, batches(3), each=True)
    data = bytearray(path.read_bytes())
    with Recording(path) as recording:
        place = recording._places[1]
    data[place.offset + 3] ^= 0xFF
    path.write_bytes(data)
    with Recording(path) as recording:
        assert recording.count == 3
        assert [frame.at for frame in recording] == [1000.0]
        assert recording.problem == (
            f"damaged at byte {place.offset}: what comes after is left out"
        )


def test_events_of_a_newer_version_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    write(path, batches(1), close=False)
    known = ev.ServerReady(at=1.0, server="a")
    newer = msgspec.msgpack.encode({"type": "ServerDreamt", "at": 1.0, "server": "a"})
    wider = msgspec.msgpack.encode(
        {"type": "LinkChanged", "at": 1.0, "link": "levitating", "detail": ""}
    )
    more = msgspec.msgpack.encode({"type": "ServerReady", "at": 1.0, "server": "a", "mood": "fine"})
    payload = encode_frames([(2000.0, [newer, encode_event(known), wider, more])])
    with path.open("ab") as file:
        file.write(blocks.pack(77, b"something else"))
        file.write(blocks.pack(blocks.EVENTS, payload, first=2000.0, last=2000.0, events=4))
    with Recording(path) as recording:
        for _ in range(2):
            *_, last = recording
            assert last == Frame(2000.0, (known, known))
            assert recording.skipped == 2


def test_a_newer_format_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    about = About(format=blocks.FORMAT + 1, version="9.0", host="h", began=0.0)
    path.write_bytes(blocks.MAGIC + blocks.pack(blocks.ABOUT, msgspec.msgpack.encode(about)))
    with pytest.raises(EagletuiError, match=r"eagletui 9\.0, which is newer"):
        Recording(path)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        (b"eagle", "ends in its first line"),
        (b"\x7fELF" + bytes(5000), "is no recording"),
        (b"[2026-01-20 03:00:00] a log\n", "is no recording"),
        (blocks.MAGIC + bytes(9000), "cut or damaged in its first block"),
        (blocks.MAGIC + blocks.pack(blocks.ABOUT, b"\x01"), "says nothing that is known here"),
        (blocks.MAGIC + blocks.pack(blocks.EVENTS, b""), "cut or damaged in its first block"),
    ],
)
def test_what_is_no_recording(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(EagletuiError, match=what):
        Recording(path)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    write(path, batches(2))
    with path.open("r+b") as file:
        file.truncate(1 << 40)  # a hole: it takes no room
    with Recording(path) as recording:
        assert len(list(recording)) == 2
        assert recording.ending is not None


def test_a_block_that_unpacks_without_end_is_damaged() -> None:
    import zlib

    bomb = zlib.compress(bytes(blocks.LARGEST + 1), 9)
    head = blocks.Head(blocks.EVENTS, len(bomb), zlib.crc32(bomb), 0.0, 0.0, 1)
    assert blocks.unpack(head, bomb) is None


def test_missing_and_folder(tmp_path: Path) -> None:
    with pytest.raises(EagletuiError, match="cannot be read: No such file"):
        Recording(tmp_path / "nothing")
    with pytest.raises(EagletuiError, match="cannot be read: Is a directory"):
        Recording(tmp_path)


@given(st.binary(max_size=400))
def test_no_bytes_break_the_decoder(data: bytes) -> None:
    decode_frames(data)
    blocks.read_head(data)


def test_it_never_replaces_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"precious")
    with pytest.raises(EagletuiError, match="is there already"):
        Writer(path, ABOUT)
    assert path.read_bytes() == b"precious"
    with pytest.raises(EagletuiError, match="cannot be written: No such file"):
        Writer(tmp_path / "no" / "a", ABOUT)


def test_it_stops_at_its_size_and_says_so(tmp_path: Path) -> None:
    noise = [
        (
            1000.0 + n,
            [ev.LogText(at=1.0, server="a", start=0, data=os.urandom(2000).hex().encode())],
        )
        for n in range(40)
    ]
    writer = write(tmp_path / "a", noise, limits=Limits(size=10_000), each=True)
    assert (writer.ended, (tmp_path / "a").stat().st_size <= 10_000) == ("size", True)
    with Recording(tmp_path / "a") as recording:
        assert recording.ending is not None
        assert recording.ending.reason == "size"
        assert recording.problem == ""


def test_it_stops_after_its_time(tmp_path: Path) -> None:
    writer = write(tmp_path / "a", batches(9), limits=Limits(seconds=3.0))
    assert writer.ended == "time"
    with Recording(tmp_path / "a") as recording:
        assert [frame.at for frame in recording] == [1000.0, 1001.0, 1002.0, 1003.0]
        assert recording.ending is not None
        assert recording.ending.reason == "time"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_ends_it(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a", ABOUT)
    for at, events in batches(2):
        writer.add(at, events)
    writer.flush()
    size = writer.size
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, writer._file.fileno())
    os.close(full)
    recorder = Recorder(writer, every=60.0)
    recorder.put(1010.0, batches(1)[0][1])
    recorder.close(10.0)
    assert recorder.ended == "disk"
    assert recorder.words == (
        "It stopped: No space left on device. What was written before can be replayed."
    )
    recorder.put(1011.0, batches(1)[0][1])
    assert recorder.size == size
    with Recording(tmp_path / "a") as recording:
        assert len(list(recording)) == 2


def test_the_recorder_keeps_order_and_closes_once(tmp_path: Path) -> None:
    recorder = Recorder(Writer(tmp_path / "a", ABOUT), every=60.0)
    for at, events in batches(50):
        recorder.put(at, events)
    recorder.close()
    recorder.close()
    recorder.put(2000.0, batches(1)[0][1])
    assert (recorder.ended, recorder.words) == ("closed", "")
    assert [(frame.at, list(frame.events)) for frame in frames_of(tmp_path / "a")] == batches(50)


def test_a_disk_that_does_not_keep_up_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eagletui.store.recording.recorder.MOST_BYTES", 100)
    recorder = Recorder(Writer(tmp_path / "a", ABOUT), every=60.0)
    recorder.put(1000.0, [ev.LogText(at=1.0, server="a", start=0, data=b"x" * 200)])
    recorder.close()
    assert recorder.ended == "slow"
    assert "does not keep up" in recorder.words
