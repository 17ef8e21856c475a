"""The fast way through the lines a serving log is made of: batches and access lines.

Decode lines of the form met last are taken out of a block by one expression, prefill and access
lines of the same form by another (`decodeform`). Of the few lines left most mean nothing, which
their text tells (`messages`).

Where that is not enough, lines are read by their shape. The *shape* of a line is the line with
every digit made 0. A server writes hundreds of thousands of lines in a few hundred shapes, and
everything the reader decides about a line it decides by its shape. So each shape is read once, in
full and to the letter, and says where its numbers stand; lines of a known shape are then only
looked up and cut. A line whose shape is none of the usual ones is handed out as it is, for the
reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, repeat
from operator import itemgetter
from struct import Struct
from typing import NamedTuple

import msgspec

from eagletui.engine.bars import holds_only_bars
from eagletui.engine.decodeform import DecodeForm, Number, digits, form_key, form_of, looks_like
from eagletui.engine.logline import is_access, read_batch, read_record, read_stamp
from eagletui.engine.messages import means_nothing
from eagletui.engine.splitter import RECORD_START, logical, plain

DECODE_LITERAL = b"Decode batch"
# A block in which a launch begins, or with a decode line of no usual shape, is read in full, line
# by line in order.
_READ_IN_FULL = (DECODE_LITERAL, b"server_args=", b"Load weight begin", b"' is still supported")
# After these a line without a stamp belongs to them; so does one whose stamp is no time.
_OPENING = (b"Traceback (most recent call last)", b"usage: ")
_DECODE_MESSAGE = re.compile(DECODE_LITERAL + rb"[^\n]*")
_STAMP = re.compile(rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")

_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_LONGEST = 1024  # no line of a usual shape is longer
_MOST_SHAPES = 4096
_MOST_FORMS = 64
_ENDED = frozenset(b"\n")
_LAST = itemgetter(-1)

# The numbers of a decode line, in the order in which all releases write them: pair, form, whether
# a usual line has it, and how it begins where lines are read by their form: such that the texts
# compare as their numbers do, or are refused as JSON.
_NUMBERS = (
    ("#running-req", re.compile(r"[0-9]{1,9}"), True, digits(1, 9)),
    ("accept len", re.compile(r"[0-9]+\.[0-9]+"), False, rb"[1-9]" + digits(0, 8)),
    ("gen throughput (token/s)", re.compile(r"[0-9]+\.[0-9]+"), True, digits(1, 9)),
)
_FIELDS = len(_NUMBERS) + 1
_ACCEPT = 1

_Cut = Callable[[bytes], "tuple[bytes, ...]"]
_NONE = (b"",) * len(_NUMBERS)


def _nothing(line: bytes) -> tuple[bytes, ...]:  # noqa: ARG001
    return _NONE


def _unknown(line: bytes) -> tuple[bytes, ...]:
    """Stands where a shape is new or odd; no line is cut by it."""
    raise NotImplementedError(line)


_floats = msgspec.json.Decoder(list[float])


class Steady(NamedTuple):
    """A block taken apart.

    Attributes:
        samples: how many decode lines.
        running: how many requests ran, as the lines write it; digits.
        accept_length: as the lines write it (`2.42`); empty where the server does not speculate.
        gen_throughput: tokens per second.
        others: the lines that are something else, in order. `places` says where they stand.
        lines: how many lines the block has.
        between: what stands around decode lines that were taken out: before the first, after it, …
        quiet: whether the others mean nothing where no traceback is open and nothing loads.
    """

    samples: int
    running: list[bytes]
    accept_length: list[bytes]
    gen_throughput: list[float]
    others: list[bytes]
    lines: int
    between: list[bytes]
    quiet: bool = False


class SteadyReader:
    """Takes blocks apart and remembers the shapes and forms it has met."""

    def __init__(self) -> None:
        self._cuts: dict[bytes, _Cut] = {}
        self._odd: set[bytes] = set()
        self._form: DecodeForm | None = None
        self._forms: dict[bytes, DecodeForm | None] = {}

    def read(self, block: bytes) -> Steady | None:
        """Take apart a block of whole lines; None where it must be read in full."""
        steady = self._by_form(self._form, block) if self._form is not None else None
        if steady is not None:
            in_any_order = steady.quiet or _in_any_order(steady.others, block)
            return steady if in_any_order else None
        steady = self._by_shape(block)
        if steady is None or not _in_any_order(steady.others, block):
            return None
        if steady.samples:
            self._learn(block)
        return steady

    def _by_form(self, form: DecodeForm, block: bytes) -> Steady | None:
        """The same where no decode line but of this form stands in the block."""
        parts = form.expression.split(block)
        texts = parts[::_FIELDS]
        rest = _whole_lines(texts)
        if rest is None or DECODE_LITERAL in rest:
            return None
        odd = _whole_lines(form.plain.split(rest))
        others = odd.split(b"\n")[:-1] if odd is not None else []
        quiet = odd is not None and all(map(means_nothing, others))
        if not quiet:
            unusual = self._by_shape(rest if odd is None else odd)
            if unusual is None or unusual.samples:
                return None
            others = unusual.others
        speeds = _speeds(parts[3::_FIELDS])
        if speeds is None:
            return None
        return Steady(
            samples=len(speeds),
            running=parts[1::_FIELDS],
            accept_length=[] if _ACCEPT in form.empty else parts[2::_FIELDS],
            gen_throughput=speeds,
            others=others,
            lines=len(speeds) + rest.count(b"\n"),
            between=texts,
            quiet=quiet,
        )

    def _learn(self, block: bytes) -> None:
        """Take the form of the block's first decode line for that of the next blocks."""
        start = block.rfind(b"\n", 0, block.find(DECODE_LITERAL)) + 1
        line = block[start : block.find(b"\n", start)]
        key = form_key(line)
        if key not in self._forms:
            if len(self._forms) >= _MOST_FORMS:
                self._forms.clear()
            self._forms[key] = _form_of(line)
        self._form = self._forms[key]

    def _by_shape(self, block: bytes) -> Steady | None:
        lines = block.split(b"\n")
        shapes = block.translate(_ZEROS).split(b"\n")
        lines.pop()
        shapes.pop()
        cuts = list(map(self._cuts.get, shapes, repeat(_unknown)))
        others: list[bytes] = []
        if _unknown in cuts:
            for index, known in enumerate(cuts):
                if known is not _unknown:
                    continue
                cut = self._cut(shapes[index], lines[index])
                cuts[index] = cut or _nothing
                if cut is None:
                    others.append(lines[index])
        if not any(cut is not _nothing for cut in cuts):
            return Steady(0, [], [], [], others, len(lines), [block])
        rows = [cut(line) for cut, line in zip(cuts, lines, strict=True) if cut is not _nothing]
        running, accept, throughput = zip(*rows, strict=True)
        speeds = _speeds(throughput)
        if speeds is None:
            return None
        lengths = [text for text in accept if text]
        return Steady(len(speeds), list(running), lengths, speeds, others, len(lines), [block])

    def _cut(self, shape: bytes, line: bytes) -> _Cut | None:
        """How lines of this shape are cut, seen at the first of them; None where it is odd."""
        if shape in self._odd:
            return None
        # Lines met before it in the same block may have had it too.
        cut = self._cuts.get(shape)
        if cut is None:
            if len(self._cuts) + len(self._odd) >= _MOST_SHAPES:
                self._cuts.clear()
                self._odd.clear()
            cut = _how_to_cut(line)
            if cut is not None:
                self._cuts[shape] = cut
            elif len(shape) <= _LONGEST:
                self._odd.add(shape)
        return cut


def _whole_lines(texts: list[bytes]) -> bytes | None:
    """What stands between matches, joined; None where a match begins within a line."""
    between = [*filter(None, texts)]
    if not _ENDED.issuperset(map(_LAST, between)):
        return None
    return b"".join(between)


def _in_any_order(others: list[bytes], block: bytes) -> bool:
    """Whether the other lines may be read after those that were taken apart."""
    joined = plain(b"\n".join(line for line in others if not holds_only_bars(line)))
    if any(text in joined for text in _READ_IN_FULL):
        return False
    return not any(text in joined for text in _OPENING) or _stamps_exist(block)


def _stamps_exist(block: bytes) -> bool:
    """Whether every stamp names a time that there is."""
    return all(read_stamp(text.decode()) is not None for text in set(_STAMP.findall(block)))


def _speeds(texts: Sequence[bytes]) -> list[float] | None:
    try:
        return _floats.decode(b"[" + b",".join(texts) + b"]")
    except msgspec.DecodeError:
        return None


def _how_to_cut(line: bytes) -> _Cut | None:
    """Read one line as the reader would. Nothing here may depend on what its digits are."""
    if len(line) > _LONGEST or b"\r" in line or b"\x1b" in line:
        return None
    logicals = list(logical(1, line))
    if not logicals:
        return _nothing
    data = logicals[0].data
    if len(logicals) > 1 or RECORD_START.search(data, 1):
        return None
    record = read_record(data.decode("utf-8", "replace"))
    if record.stamp is None:
        return None
    batch = read_batch(record.text)
    if batch is None:
        return _nothing if is_access(record.text) else None
    kind, pairs = batch
    return _cut_numbers(line, pairs) if kind == "Decode" else _nothing


def _cut_numbers(line: bytes, pairs: dict[str, str]) -> _Cut | None:
    """Cuts the numbers out of a decode line, each by its place; None where one looks different."""
    places = _places(line, pairs)
    if places is None:
        return None
    layout = ""
    position = 0
    for start, end in places:
        layout += f"{start - position}x{end - start}s"
        position = end
    return Struct(f"{layout}{len(line) - position}x").unpack


def _places(line: bytes, pairs: dict[str, str]) -> list[tuple[int, int]] | None:
    """Where the numbers of a decode line stand; one that need not be there is empty."""
    places: list[tuple[int, int]] = []
    position = 0
    for name, form, needed, _ in _NUMBERS:
        text = pairs.get(name)
        if text is None and not needed and name.encode() not in line:
            places.append((position, position))
            continue
        if text is None or not form.fullmatch(text) or line.count(name.encode()) != 1:
            return None
        start = line.find(b"%b: %b" % (name.encode(), text.encode()), position)
        if start < 0:
            return None
        start += len(name) + 2
        position = start + len(text)
        places.append((start, position))
    return places


def _form_of(line: bytes) -> DecodeForm | None:
    """The form of a decode line that the reader would read as it stands."""
    if _how_to_cut(line) in (None, _nothing):
        return None
    batch = read_batch(read_record(line.decode("utf-8", "replace")).text)
    places = _places(line, batch[1]) if batch is not None else None
    if batch is None or places is None:
        return None  # something stands before its record
    numbers = [
        Number(start, end, looks_like(line[start:end], whole))
        for (start, end), (*_, whole) in zip(places, _NUMBERS, strict=True)
    ]
    return form_of(line, batch[1], numbers)


def decode_messages(block: bytes) -> Iterator[str]:
    """The messages of the decode lines, in order; of those with the same shape the first alone."""
    for message in dict.fromkeys(_DECODE_MESSAGE.findall(block.translate(_ZEROS))):
        yield message.decode("utf-8", "replace")


def accept_line(block: bytes, index: int) -> tuple[int, bytes]:
    """The decode line with this accept length: its index among the lines, and its bytes."""
    seen = -1
    for number, line in enumerate(block.split(b"\n")):
        seen += DECODE_LITERAL in line
        if seen == index:
            return number, line
    raise IndexError(index)


def places(steady: Steady, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Some of the other lines, in order, each with its index among the lines of the block."""
    between = steady.between
    texts = compress(range(len(between)), between)
    taken, text = 0, b""
    passed = position = 0
    for line in lines:
        while (start := _start_of(line, text, position)) < 0:
            passed += text.count(b"\n", position)
            taken, position = next(texts), 0
            text = between[taken]
        passed += text.count(b"\n", position, start)
        yield taken + passed, line
        passed += 1
        position = start + len(line) + 1


def _start_of(line: bytes, text: bytes, position: int) -> int:
    """Where this line begins, at or after the beginning of another; -1 for nowhere."""
    whole = line + b"\n"
    if text.startswith(whole, position):
        return position
    place = text.find(b"\n" + whole, position)
    return place + 1 if place >= 0 else -1
