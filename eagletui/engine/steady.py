"""The fast way through the lines a serving log is made of: batches and access lines.

Where there is much to read, decode lines of the form met last are taken out of a block column by
column, and the usual prefill and access lines with them (`columns`). Of the few lines left most
mean nothing, which their text tells (`messages`).

Where that is not enough or does not pay, lines are read by their shape. The *shape* of a line is
the line with every digit made 0. A server writes hundreds of thousands of lines in a few hundred
shapes, and everything the reader decides about a line it decides by its shape. So each shape is
read once, in full and to the letter, and says where its numbers stand; lines of a known shape are
then only looked up and cut. A line whose shape is none of the usual ones is handed out as it is,
for the reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from eagletui.engine.acceptance import USELESS_BELOW
from eagletui.engine.amounts import Amounts, amounts
from eagletui.engine.bars import holds_only_bars
from eagletui.engine.logline import DIGITS_TO_ZERO, is_access, read_batch, read_record, read_stamp
from eagletui.engine.messages import means_nothing
from eagletui.engine.splitter import RECORD_START, logical, plain

if TYPE_CHECKING:
    from eagletui.engine.columns import ColumnForm, Taken

DECODE_LITERAL = b"Decode batch"
# A block in which a launch begins, or with a decode line of no usual shape, is read in full, line
# by line in order.
_READ_IN_FULL = (DECODE_LITERAL, b"server_args=", b"Load weight begin", b"' is still supported")
# After these a line without a stamp belongs to them; so does one whose stamp is no time.
_OPENING = (b"Traceback (most recent call last)", b"usage: ")
# Not what an access line or a prefill line may hold.
_DECODE_MESSAGE = re.compile(RECORD_START.pattern + rb"(" + DECODE_LITERAL + rb"[^\n]*)")
_STAMP = re.compile(rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")

_LONGEST = 1024  # no line of a usual shape is longer
_MOST_SHAPES = 4096
_MOST_FORMS = 64
# After so many blocks one after the other that had decode lines of another form than the last one
# met, no form is looked for in so many bytes.
_MISSES = 4
_PAUSE = 32 << 20

# The numbers of a decode line, in the order in which all releases write them: pair, form, whether
# a usual line has it.
_NUMBERS = (
    ("#running-req", re.compile(r"[0-9]{1,9}"), True),
    ("accept len", re.compile(r"[0-9]{1,14}\.[0-9]+"), False),
    ("gen throughput (token/s)", re.compile(r"[0-9]{1,14}\.[0-9]+"), True),
)

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
        running: how many requests ran at most; None without decode lines.
        low: of each in order, whether its accept length is that of a useless draft; empty where the
            server does not speculate.
        accept_length: what these amount to; None where it does not.
        gen_throughput: tokens per second.
        others: the lines that are something else, in order. `places` says where they stand.
        lines: how many lines the block has.
        left: texts of whole lines, each with how many lines were taken out before it.
        notable: those of the others that may mean something even where no traceback is open and
            nothing loads.
    """

    samples: int
    running: int | None
    low: list[bool]
    accept_length: Amounts | None
    gen_throughput: Amounts | None
    others: list[bytes]
    lines: int
    left: list[tuple[int, bytes]]
    notable: list[bytes]


class SteadyReader:
    """Takes blocks apart and remembers the shapes and forms it has met.

    Args:
        columns_after: bytes after which columns are read; None for never. What reads them takes a
            third of a second to load.
    """

    def __init__(self, *, columns_after: int | None = None) -> None:
        self._cuts: dict[bytes, _Cut] = {}
        self._odd: set[bytes] = set()
        self._until_columns = columns_after
        self._form: ColumnForm | None = None
        self._forms: dict[bytes, ColumnForm | None] = {}
        self._misses = 0

    @property
    def reads_columns(self) -> bool:
        """Whether large blocks are read better than small ones."""
        return self._form is not None

    def read(self, block: bytes) -> Steady | None:
        """Take apart a block of whole lines; None where it must be read in full."""
        unlike = block
        if self._form is not None:
            taken = self._form.take(block)
            unlike = b"".join(text for _, text in taken.left)
            steady = self._by_form(taken, unlike)
            if steady is not None:
                self._misses = 0
                return steady if _in_any_order(steady.notable, block) else None
            self._missed()
        steady = self._by_shape(block)
        if steady is None or not _in_any_order(steady.others, block):
            return None
        if self._until_columns is not None:
            self._until_columns -= len(block)
            if steady.samples and self._until_columns < 0:
                self._learn(unlike)
        return steady

    def _missed(self) -> None:
        """Where lines of many forms are mixed, no form pays."""
        self._misses += 1
        if self._misses >= _MISSES:
            self._misses = 0
            self._form = None
            self._until_columns = _PAUSE

    def _by_form(self, taken: Taken, rest: bytes) -> Steady | None:
        """The same where no decode line but of the form stood in the block; `rest` was left."""
        if DECODE_LITERAL in rest:
            return None
        others = rest.split(b"\n")[:-1]
        unusual = self._by_shape(b"".join(b"%b\n" % line for line in others if b"\r" not in line))
        if unusual is None or unusual.samples:
            return None
        usual = {line for line in others if b"\r" not in line}.difference(unusual.others)
        others = [line for line in others if line not in usual]
        notable = [line for line in others if not means_nothing(line)]
        running, throughput, *accept = taken.columns
        return Steady(
            samples=taken.samples,
            running=running.greatest(),
            low=accept[0].below(USELESS_BELOW) if accept else [],
            accept_length=accept[0].amounts() if accept else None,
            gen_throughput=throughput.amounts(),
            others=others,
            lines=taken.lines,
            left=taken.left,
            notable=notable,
        )

    def _learn(self, text: bytes) -> None:
        """Take the form of the first decode line of these lines for that of the next blocks."""
        from eagletui.engine.columns import form_key

        place = text.find(DECODE_LITERAL)
        if place < 0:
            return
        start = text.rfind(b"\n", 0, place) + 1
        line = text[start : text.find(b"\n", start)]
        key = form_key(line)
        if key not in self._forms:
            if len(self._forms) >= _MOST_FORMS:
                self._forms.clear()
            self._forms[key] = _form_of(line)
        self._form = self._forms[key]

    def _by_shape(self, block: bytes) -> Steady | None:
        lines = block.split(b"\n")
        shapes = block.translate(DIGITS_TO_ZERO).split(b"\n")
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
            return Steady(0, None, [], None, None, others, len(lines), [(0, block)], others)
        rows = [cut(line) for cut, line in zip(cuts, lines, strict=True) if cut is not _nothing]
        running, accept, throughput = zip(*rows, strict=True)
        speeds, lengths = _floats_of(throughput), _floats_of([*filter(None, accept)])
        if speeds is None or lengths is None:
            return None
        return Steady(
            samples=len(rows),
            running=max(map(int, set(running))),
            low=[*map(USELESS_BELOW.__gt__, lengths)],
            accept_length=amounts(lengths),
            gen_throughput=amounts(speeds),
            others=others,
            lines=len(lines),
            left=[(0, block)],
            notable=others,
        )

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


def _in_any_order(others: list[bytes], block: bytes) -> bool:
    """Whether the other lines may be read after those that were taken apart."""
    if not others:
        return True
    joined = plain(b"\n".join(line for line in others if not holds_only_bars(line)))
    if any(text in joined for text in _READ_IN_FULL):
        return False
    return not any(text in joined for text in _OPENING) or stamps_exist(block)


def stamps_exist(block: bytes) -> bool:
    """Whether every stamp names a time that there is."""
    return all(read_stamp(text.decode()) is not None for text in set(_STAMP.findall(block)))


def _floats_of(texts: Sequence[bytes]) -> list[float] | None:
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
    for name, form, needed in _NUMBERS:
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


def _form_of(line: bytes) -> ColumnForm | None:
    """The form of a decode line that the reader would read as it stands."""
    from eagletui.engine.columns import form_of

    if _how_to_cut(line) in (None, _nothing):
        return None
    batch = read_batch(read_record(line.decode("utf-8", "replace")).text)
    places = _places(line, batch[1]) if batch is not None else None
    if batch is None or places is None:
        return None  # something stands before its record
    running, accept, throughput = places
    wanted = [running, throughput, *(place for place in [accept] if place[0] < place[1])]
    return form_of(line, batch[1], [start for start, _ in wanted])


def decode_messages(block: bytes) -> Iterator[str]:
    """The messages of the decode lines, in order; of those with the same shape the first alone."""
    for message in dict.fromkeys(_DECODE_MESSAGE.findall(block.translate(DIGITS_TO_ZERO))):
        yield message.decode("utf-8", "replace")


def accept_line(block: bytes, index: int) -> tuple[int, bytes]:
    """The decode line with this accept length: its index among the lines, and its bytes."""
    seen = -1
    for number, line in enumerate(block.split(b"\n")):
        message = _DECODE_MESSAGE.search(line)
        seen += message is not None and b"accept len: " in message[1]
        if seen == index:
            return number, line
    raise IndexError(index)


def places(steady: Steady, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Some of the other lines, in order, each with its index among the lines of the block."""
    left = iter(steady.left)
    taken, text = 0, b""
    passed = position = 0
    for line in lines:
        while (start := _start_of(line, text, position)) < 0:
            passed += text.count(b"\n", position)
            taken, text = next(left)
            position = 0
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
