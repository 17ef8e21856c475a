"""Events as bytes: MessagePack of the tagged union in `model.events`, read strictly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from eagletui.model.base import Data
from eagletui.model.events import Event
from eagletui.store.recording.blocks import FORMAT

Reason = Literal["closed", "size", "time", "disk", "slow"]
"""Why a recording ended: it was closed, is as large or as long as was agreed, or had to stop."""

_LARGEST_INT = 1 << 63


class About(Data, frozen=True, kw_only=True):
    """What a recording is of.

    Attributes:
        version: of the eagletui that wrote it.
        host: as the person knows it.
        began: seconds since the epoch, by the clock of whoever recorded it.
        utc_offset: that clock's zone, seconds east of UTC.
        source: `live`, or `files` where a saved log or scrapes were made into it.
    """

    format: int = FORMAT
    version: str
    host: str
    began: float
    utc_offset: float = 0.0
    source: str = "live"


class Ending(Data, frozen=True, kw_only=True):
    """The last words of a recording that was ended on purpose."""

    at: float
    reason: Reason


class Frame(NamedTuple):
    """Events that came together; `at` is when, in the user's clock, and never goes back."""

    at: float
    events: tuple[Event, ...]


class Frames(NamedTuple):
    """What a block held; `skipped` counts the events that are unknown here."""

    frames: list[Frame]
    skipped: int


_encoder = msgspec.msgpack.Encoder()
_event = msgspec.msgpack.Decoder(Event)
_strict = msgspec.msgpack.Decoder(list[tuple[float, tuple[Event, ...]]])
_loose = msgspec.msgpack.Decoder(list[tuple[float, list[msgspec.Raw]]])


def encode(value: About | Ending) -> bytes:
    """What is no event."""
    return _encoder.encode(value)


def encode_event(event: Event) -> bytes:
    """One event. What no format can carry (half a character, a number without end) is rewritten."""
    try:
        return _encoder.encode(event)
    except (OverflowError, UnicodeEncodeError, TypeError, ValueError):
        return _encoder.encode(_plain(msgspec.to_builtins(event, builtin_types=(bytes,))))


def encode_frames(frames: Sequence[tuple[float, Sequence[bytes]]]) -> bytes:
    """Frames whose events are encoded already."""
    return _encoder.encode(
        [(at, [msgspec.Raw(event) for event in events]) for at, events in frames]
    )


def decode_frames(payload: bytes) -> Frames | None:
    """The frames of a block; None where it holds something else.

    An event of a kind that is not known here, or that says what cannot be here, is left out and
    counted: it comes from a newer eagletui.
    """
    try:
        return Frames([Frame(*frame) for frame in _strict.decode(payload)], 0)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    try:
        raw = _loose.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    frames, skipped = [], 0
    for at, packed in raw:
        events = [event for one in packed if (event := _known(one)) is not None]
        skipped += len(packed) - len(events)
        frames.append(Frame(at, tuple(events)))
    return Frames(frames, skipped)


def _known(packed: msgspec.Raw) -> Event | None:
    try:
        return _event.decode(packed)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _plain(value: Any) -> Any:
    """The same of what MessagePack knows."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, int) and not -_LARGEST_INT <= value < _LARGEST_INT:
        return float(value) if abs(value) < 1 << 1000 else str(value >= 0)
    return value
