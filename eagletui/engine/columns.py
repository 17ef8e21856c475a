"""Decode lines of one form taken out of a block, a column at a time.

A server writes its decode lines in one form for as long as it runs: only numbers, `True` and
`False` change. A line that the reader has understood gives that form. Nothing else is taken for it:
every byte of a line is looked at, so that whatever is taken the reader would have read in the same
way.

All lines of a block are walked along together: a text of the form is compared eight bytes at a
time, a number is read from the eight bytes it begins, and tells where the next text stands.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

# NumPy's library for matrices, which nothing here needs, else starts a thread on every core, and
# they spin: two seconds of processor time on 16 cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import numpy.typing as npt

from eagletui.engine.amounts import Amounts
from eagletui.engine.logline import DIGITS_TO_ZERO

_Ints: TypeAlias = npt.NDArray[np.int64]
_Words: TypeAlias = npt.NDArray[np.uint64]
_Truths: TypeAlias = npt.NDArray[np.bool_]

_WORD = 8
_NEWLINE = 10
# Around a block, so that whatever is looked at lies within: no form is longer.
_MARGIN = bytes(1024)

_STAMP = re.compile(
    rb"\[[0-9]{4}-[0-9]{2}-[0-9]{2} ([0-2])[0-9]:([0-5])[0-9]:([0-5])[0-9]([.,][0-9]{3})?(?=[ \]])"
)
# The day is taken to the letter: days that no calendar has are thereby excluded.
_AFTER_THE_DAY = len("[2026-02-24 ")
_LIMITED = {1: 2, 2: 5, 3: 5}  # group of `_STAMP` → the greatest digit
_DIGIT_OR_COLON = 10  # the colon follows the 9
_LONGEST_PLAIN = 256
_KEPT_MEMORY = 16 << 20
_PLACES = np.arange(_LONGEST_PLAIN, dtype=np.uint8)
# It changes with the release, and a file may hold the logs of two.
_MARK = re.compile(rb"(?<=\] Decode batch)[.,]|(?<=\] Prefill batch)[.,]")
# Decimals below ten are part of a text: nearly all of usages, rates and accept lengths are.
_CHANGES = re.compile(
    rb"(?<=: )(?:(?P<small>[0-9]\.[0-9]{1,5})|(?P<number>[0-9]{1,8}(?:\.(?P<fraction>[0-9]{1,5}))?)"
    rb"|(?P<truth>True|False))(?![0-9.])"
)


class Numbers(NamedTuple):
    """A column of numbers as the lines write them: `scaled` over ten to the power of `decimals`."""

    scaled: _Ints
    decimals: int

    def below(self, limit: float) -> list[bool]:
        """Of each, whether it is."""
        unit = 10**self.decimals
        least = round(limit * unit)
        # Rounded once, as the text would be: the very same float.
        least += least / unit < limit
        below: list[bool] = (self.scaled < least).tolist()
        return below

    def greatest(self) -> int | None:
        """Of whole numbers; None for none."""
        return int(self.scaled.max()) if len(self.scaled) else None

    def amounts(self) -> Amounts | None:
        """What they amount to; None for none."""
        scaled, unit = self.scaled, 10**self.decimals
        if not len(scaled):
            return None
        told = (np.add.reduce(scaled), scaled.min(), scaled.max(), scaled[-1])
        return Amounts(len(scaled), *(int(number) / unit for number in told))


class Taken(NamedTuple):
    """A block without the lines that were taken out.

    Attributes:
        samples: how many of these were decode lines.
        lines: how many lines the block has.
        columns: the numbers asked for, of each decode line in order.
        left: the others: each with how many were taken out before it; whole lines.
    """

    samples: int
    lines: int
    columns: tuple[Numbers, ...]
    left: list[tuple[int, bytes]]


class ColumnForm:
    """The decode lines of one form, and the usual lines between them.

    Args:
        line: one of the decode lines without its end, with nothing before its record.
        places: where the numbers to give begin.
    """

    def __init__(self, line: bytes, places: Sequence[int]) -> None:
        self._steps = [*_steps(line + b"\n")]
        self._plain = [*_plain_heads(line)]
        decimals = {place: count for step in self._steps for place, count in step.numbers()}
        self._decimals = {place: decimals[place] for place in places}

    def take(self, block: bytes) -> Taken:
        """Take out of a block of whole lines what is of this form, or means nothing."""
        padded = b"".join((_MARGIN, block, _MARGIN))
        (ends,) = (np.frombuffer(padded, np.uint8) == _NEWLINE).nonzero()
        starts = np.empty_like(ends)
        starts[:1] = len(_MARGIN)
        np.add(ends[:-1], 1, out=starts[1:])
        (lines,) = self._steps[0].text.stands_at(padded, starts).nonzero()
        wrong, columns = self._walk(padded, starts.take(lines), ends.take(lines))
        (right,) = _none(wrong).nonzero()
        taken = np.zeros(len(starts), bool)
        taken[lines.take(right)] = True
        (others,) = (~taken).nonzero()
        taken[others] = self._means_nothing(padded, starts.take(others), ends.take(others))
        return Taken(
            samples=len(right),
            lines=len(starts),
            columns=tuple(
                Numbers(_number(columns[place].take(right)), decimals)
                for place, decimals in self._decimals.items()
            ),
            left=[*_left(padded, starts, ends, (~taken).nonzero()[0])],
        )

    def _means_nothing(self, padded: bytes, starts: _Ints, ends: _Ints) -> _Truths:
        """Of each line whether it is a prefill line of these ranks, or an access line of this day.

        They are not looked into, but for what might begin another record or line.
        """
        plain = np.zeros(len(starts), bool)
        for head in self._plain:
            plain |= head.stands_at(padded, starts)
        (lines,) = plain.nonzero()
        starts = starts.take(lines)
        widths = ends.take(lines) - starts
        seen = _windows(padded, _LONGEST_PLAIN)[starts].view(np.uint8).reshape(-1, _LONGEST_PLAIN)
        usual = (seen >= ord(" ")) & (seen <= ord("~"))
        usual &= seen != ord("[")
        usual[:, 0] = True
        usual |= widths.astype(np.uint8)[:, None] <= _PLACES
        plain[lines] = usual.all(axis=1) & (widths < _LONGEST_PLAIN)
        return plain

    def _walk(self, padded: bytes, places: _Ints, ends: _Ints) -> tuple[_Words, dict[int, _Words]]:
        """For each line what is wrong with it (0 for nothing), and the digits of its numbers."""
        wrong = np.zeros(len(places), np.uint64)
        columns: dict[int, _Words] = {}
        for step in self._steps:
            seen = step.text.at(padded, places)
            if step is not self._steps[0]:  # it was looked at
                step.text.compare(seen, wrong)
            for small in step.small:
                if small.place in self._decimals:
                    columns[small.place] = small.digits(seen)
            places += step.text.length
            if step.value is None:
                continue
            behind = seen[:, -1]
            widths = step.value.widths(behind, wrong)
            # Digits of whole numbers were looked at; a point and what follows were not.
            if isinstance(step.value, _Number) and (
                step.value.decimals or step.place in self._decimals
            ):
                columns[step.place] = step.value.digits(behind, widths, wrong)
            places += widths.view(np.int64)
        wrong |= (places ^ (ends + 1)).view(np.uint64)
        return wrong, columns


def form_key(line: bytes) -> bytes:
    """Lines with the same key have the same form, where they have one."""
    line = _MARK.sub(b",", line)
    return line[:_AFTER_THE_DAY] + _CHANGES.sub(_class, line).translate(DIGITS_TO_ZERO)


def _class(change: re.Match[bytes]) -> bytes:
    """The same for all that may stand in its place."""
    if change["small"] or len(change[0]) > _WORD:
        return change[0]
    return b"truth" if change["truth"] else b"number." + (change["fraction"] or b"")


def form_of(line: bytes, pairs: Mapping[str, str], places: Sequence[int]) -> ColumnForm | None:
    """The form of a decode line (without its end); None where it has none that is read here.

    Args:
        line: as written, and without anything before its record.
        pairs: what the reader read in it.
        places: where the numbers that are asked for begin.
    """
    stamp = _STAMP.match(line)
    # A name with a digit in it could be another with another digit.
    if stamp is None or not line.isascii() or any(map(_has_digit, pairs)):
        return None
    values = list(_CHANGES.finditer(line, stamp.end()))
    numbers = {value.start() for value in values if value["truth"] is None}
    if not numbers.issuperset(places) or len(line) + _WORD * len(values) > len(_MARGIN):
        return None
    if any(value.end() - value.start() > _WORD for value in values):
        return None
    # Once so much was given back, glibc keeps the memory of a block's arrays for the next block's,
    # instead of asking for each page again: 350,000 in a log of 1 GB, a fifth of the time.
    np.empty(_KEPT_MEMORY, np.uint8)
    return ColumnForm(line, places)


def _plain_heads(line: bytes) -> Iterator[_Text]:
    """How the usual lines begin that stand between decode lines like this one."""
    stamp = _STAMP.match(line)
    assert stamp is not None
    access = stamp[0] + b"] INFO:     0"
    yield _Text(access, {**_changing_digits(access), len(access) - 1: _DIGIT_OR_COLON}, more=False)
    prefill = line[: line.index(b"]")] + b"] Prefill batch, #"
    yield _Text(prefill, _changing_digits(prefill), more=False)


# --- the steps along a line ----------------------------------------------------------------------


class _Step(NamedTuple):
    """A text, and what follows it.

    Attributes:
        text: what is compared.
        small: the decimals within.
        value: what stands behind the text; None at the end of the line.
        place: where that begins in the line that gave the form.
    """

    text: _Text
    small: tuple[_Small, ...]
    value: _Number | _Truth | None
    place: int

    def numbers(self) -> Iterator[tuple[int, int]]:
        """Where the numbers begin, and how many digits each has after the point."""
        for small in self.small:
            yield small.place, small.decimals
        if isinstance(self.value, _Number):
            yield self.place, self.value.decimals


def _steps(line: bytes) -> Iterator[_Step]:
    """The steps along a line with its end."""
    changes = list(_CHANGES.finditer(line))
    small = [change for change in changes if change["small"]]
    digits = _changing_digits(line[: line.index(b"#")])
    digits |= {place: 9 for change in small for place in _digits_in(line, *change.span())}
    begin = 0
    for change in [*(change for change in changes if not change["small"]), None]:
        end = change.start() if change else len(line)
        within = {place - begin: digits[place] for place in range(begin, end) if place in digits}
        text = _Text(line[begin:end], within, more=change is not None)
        yield _Step(
            text,
            tuple(
                _Small(one.start(), len(one[0]) - 2, text.lead + one.start() - begin)
                for one in small
                if begin <= one.start() < end
            ),
            _value(change) if change else None,
            end,
        )
        begin = change.end() if change else end


def _value(change: re.Match[bytes]) -> _Number | _Truth:
    return _Truth() if change["truth"] else _Number(len(change["fraction"] or b""))


def _changing_digits(head: bytes) -> dict[int, int]:
    """The digits of a line's beginning, the day's left out, and how great each may be."""
    stamp = _STAMP.match(head)
    assert stamp is not None
    limits = {stamp.start(group): limit for group, limit in _LIMITED.items()}
    return {place: limits.get(place, 9) for place in _digits_in(head, _AFTER_THE_DAY, len(head))}


def _digits_in(line: bytes, begin: int, end: int) -> list[int]:
    return [place for place in range(begin, end) if line[place : place + 1].isdigit()]


class _Text:
    """What stands to the letter, or nearly, in every line of a form.

    Args:
        text: as it stands in one.
        digits: which of its digits may be others, and how great.
        more: whether the eight bytes behind it are looked at together with it.
    """

    def __init__(self, text: bytes, digits: Mapping[int, int], *, more: bool) -> None:
        self.length = len(text)
        self.lead = -len(text) % _WORD
        # What a byte is expected to be, which of its bits count, and what is added to a digit so
        # that one which is too great carries into these.
        expected = bytearray(text)
        bits, added = bytearray(b"\xff" * len(text)), bytearray(len(text))
        for place, greatest in digits.items():
            expected[place], bits[place], added[place] = ord("0"), 0xF0, 0x0F - greatest
        if mark := _MARK.search(text):
            bits[mark.start()] = 0xFF ^ ord(",") ^ ord(".")
        behind = b"0" * _WORD if more else b""
        lead = bytes(self.lead)
        self._expected = _words(lead + expected + behind)
        self._bits, self._added = _words(lead + bits), _words(lead + added)
        self._tiled = self._expected[:0]

    def at(self, padded: bytes, places: _Ints) -> _Words:
        """How what stands at these places differs: a row of words for each, the text to the right.

        Digits that may be others become their values, and so do those behind.
        """
        count = len(places)
        seen = _windows(padded, self._expected.nbytes)[places - self.lead].view("<u8")
        if len(self._tiled) < len(seen):
            self._tiled = np.tile(self._expected, count)
        seen ^= self._tiled[: len(seen)]
        return seen.reshape(count, len(self._expected))

    def stands_at(self, padded: bytes, places: _Ints) -> _Truths:
        """Of each of these places whether it does."""
        wrong = np.zeros(len(places), np.uint64)
        self.compare(self.at(padded, places), wrong)
        return _none(wrong)

    def compare(self, seen: _Words, wrong: _Words) -> None:
        """Mark each row that is another text."""
        for index, (bits, added) in enumerate(zip(self._bits, self._added, strict=True)):
            differs = seen[:, index]
            if added:
                differs = differs | (differs + added)
            if ~bits:
                differs = differs & bits
            wrong |= differs


def _none(wrong: _Words) -> _Truths:
    right: _Truths = wrong == 0
    return right


def _windows(buffer: bytes, width: int) -> npt.NDArray[np.void]:
    """So many bytes from each place on; nothing is copied."""
    places = len(buffer) - width + 1
    windows: npt.NDArray[np.void] = np.ndarray((places,), f"V{width}", buffer, strides=(1,))
    return windows


# --- values --------------------------------------------------------------------------------------


def _words(text: bytes) -> _Words:
    words: _Words = np.frombuffer(text, "<u8")
    return words


def _word(text: bytes) -> int:
    return int.from_bytes(text, "little")


def _last(count: int) -> int:
    """The bits of the last so many bytes of a word."""
    return _word((b"\xff" * count).rjust(_WORD, b"\0"))


_ASCII_ZEROS = _word(b"0" * _WORD)
_ASCII_DOTS = _word(b"." * _WORD)
_HIGH = _word(b"\xf0" * _WORD)
_SIXES = _word(b"\x06" * _WORD)
_TRUE_BITS, _FALSE_BITS = _word(b"\xff" * 4), _word(b"\xff" * 5)
_TRUE = (_word(b"True") ^ _ASCII_ZEROS) & _TRUE_BITS
_FALSE = (_word(b"False") ^ _ASCII_ZEROS) & _FALSE_BITS


class _Number:
    """A number of at most eight characters with so many digits after the point."""

    def __init__(self, decimals: int) -> None:
        self.decimals = decimals
        # Of a number that ends in the last byte of a word.
        self._point = _last(decimals + 1) ^ _last(decimals) if decimals else 0
        self._dot = (_ASCII_DOTS ^ _ASCII_ZEROS) & self._point
        self._fraction = _last(decimals)
        self._whole = _last(_WORD) ^ (self._point | self._fraction)
        self._behind = decimals + 1 if decimals else 0

    def widths(self, seen: _Words, wrong: _Words) -> _Words:
        """How long each number is; what begins with no digit is marked.

        Args:
            seen: how the eight bytes that each begins differ from zeros.
            wrong: for the marks.
        """
        odd = _odd(seen)  # may be wrong behind the first that is none
        wrong |= odd & 0xFF
        odd &= ~odd + 1  # its lowest bit
        odd -= 1
        widths: _Words = np.bitwise_count(odd).astype(np.uint64)
        widths >>= 3
        widths += self._behind
        return widths

    def digits(self, seen: _Words, widths: _Words, wrong: _Words) -> _Words:
        """Their digits, each in its byte and the last in the last; what is no number is marked."""
        # Where it is too long nothing is left, and no point.
        digits: _Words = np.left_shift(seen, 64 - (widths << 3))
        if self.decimals:
            point = digits & self._point
            point ^= self._dot
            wrong |= point
            fraction: _Words = np.bitwise_and(digits, self._fraction)
            digits &= self._whole
            digits <<= 8
            digits |= fraction
            wrong |= _odd(fraction)
        return digits


class _Truth:
    """`True` or `False`."""

    def widths(self, seen: _Words, wrong: _Words) -> _Words:
        """How long each word is; what is neither is marked."""
        true = seen & _TRUE_BITS
        true ^= _TRUE
        false = seen & _FALSE_BITS
        false ^= _FALSE
        wrong |= np.minimum(true, false)
        widths: _Words = np.add(false == 0, len("True"), dtype=np.uint64)
        return widths


class _Small(NamedTuple):
    """A decimal below ten within a text: where it stands in the line, and in the row of words."""

    place: int
    decimals: int
    at: int

    def digits(self, seen: _Words) -> _Words:
        """Its digits, each in its byte, the last in the last."""
        first, shift = divmod(self.at, _WORD)
        words: _Words = np.right_shift(seen[:, first], 8 * shift)
        if shift + self.decimals + 2 > _WORD:
            words |= seen[:, first + 1] << (8 * (_WORD - shift))
        whole = (words & 0xFF) << (8 * (_WORD - 1 - self.decimals))
        words >>= 16
        words <<= 8 * (_WORD - self.decimals)
        words |= whole
        return words


def _odd(digits: _Words) -> _Words:
    """0 where all bytes are digits."""
    odd: _Words = digits + _SIXES
    odd |= digits
    odd &= _HIGH
    return odd


def _number(digits: _Words) -> _Ints:
    """Eight digits each, the first in the lowest byte: pairs, then fours, then all of them."""
    pairs: _Words = digits * 10
    pairs += digits >> 8
    low = (pairs >> 16) & 0x000000FF_000000FF
    pairs &= 0x000000FF_000000FF
    pairs *= 100 + (1_000_000 << 32)
    low *= 1 + (10_000 << 32)
    pairs += low
    pairs >>= 32
    numbers: _Ints = pairs.view(np.int64)
    return numbers


def _left(padded: bytes, starts: _Ints, ends: _Ints, lines: _Ints) -> Iterator[tuple[int, bytes]]:
    """These lines, those that follow each other in one, and how many others stand before."""
    before = lines - np.arange(len(lines))
    firsts = np.ones(len(lines), bool)
    firsts[1:] = before[1:] != before[:-1]
    lasts = np.ones(len(lines), bool)
    lasts[:-1] = firsts[1:]
    begins, finishes = starts[lines[firsts]].tolist(), (ends[lines[lasts]] + 1).tolist()
    for count, begin, finish in zip(before[firsts].tolist(), begins, finishes, strict=True):
        yield count, padded[begin:finish]


def _has_digit(name: str) -> bool:
    return any(character.isdigit() for character in name)
