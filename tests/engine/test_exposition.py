from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.engine.exposition import Page, PageReader
from tests.engine.recorded import unpacked

WANTED = ("a:b", "c_total", "up")
PAGE = b"""# HELP a:b what
# TYPE a:b gauge
a:b{x="1",y="two"} 2.5
other{z="}"} 3
c_total{p="a\\"b\\\\c\\nd, e} f"} 1e3 1700000000
up 1 # {trace="x"} 0.5
"""


def as_pairs(page: Page) -> list[tuple[str, dict[str, str], str]]:
    named = zip(page.layout.series, page.values, strict=True)
    return [(series.name, series.labels, repr(value)) for series, value in named]


def test_reads_labels_escapes_timestamps_and_exemplars() -> None:
    page = PageReader(WANTED).read(PAGE)
    assert as_pairs(page) == [
        ("a:b", {"x": "1", "y": "two"}, "2.5"),
        ("c_total", {"p": 'a"b\\c\nd, e} f'}, "1000.0"),
        ("up", {}, "1.0"),
    ]
    assert page.layout.samples == 4
    assert page.layout.malformed == 0
    assert page.layout.prefixes == {"a", "other", "c", "up"}
    assert not page.truncated


def test_keeps_the_layout_while_only_values_change() -> None:
    reader = PageReader(WANTED)
    first = reader.read(PAGE)
    second = reader.read(PAGE.replace(b" 2.5", b" 7").replace(b"} 3\n", b"} 4\n"))
    assert second.layout is first.layout
    assert second.values[0] == 7.0


@pytest.mark.parametrize(
    "changed",
    [
        PAGE + b"up 2\n",
        PAGE.replace(b'other{z="}"} 3\n', b""),
        PAGE.replace(b'other{z="}"} 3', b"up 5"),
        PAGE.replace(b'x="1"', b'x="2"'),
        PAGE.replace(b"up 1", b"up_ 1"),
        PAGE.replace(b"a:b{", b"a:b {"),
        PAGE.replace(b"# TYPE a:b gauge", b"up 9"),
        # as many lines as before: a wanted one came where none was looked for
        b"up 8\n" + PAGE.replace(b'other{z="}"} 3\n', b""),
    ],
)
def test_notices_every_change_of_lines(changed: bytes) -> None:
    reader = PageReader(WANTED)
    reader.read(PAGE)
    assert as_pairs(reader.read(changed)) == as_pairs(PageReader(WANTED).read(changed))


def test_drops_a_last_line_without_end() -> None:
    page = PageReader(WANTED).read(PAGE + b"up 12")
    assert page.truncated
    assert page.values == [2.5, 1000.0, 1.0]
    assert not PageReader(WANTED).read(PAGE + b"# EOF").truncated


def test_reads_special_numbers_crlf_and_nonsense() -> None:
    page = PageReader(WANTED).read(b"up NaN\r\nup +Inf\r\nup -Inf\r\nup x\r\n\r\n?\r\n")
    assert [str(v) for v in page.values] == ["nan", "inf", "-inf", "nan"]
    assert page.layout.malformed == 1


def test_agrees_with_the_reference_parser_on_a_recording() -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    body = unpacked("eagle3_load03_metrics.txt")
    reference = [
        (sample.name, sample.labels, sample.value)
        for family in parser.text_string_to_metric_families(body.decode())
        for sample in family.samples
    ]
    names = {name for name, _, _ in reference}
    page = PageReader(names).read(body)
    assert page.layout.samples == len(reference) > 500
    ours = {
        (s.name, *sorted(s.labels.items())): v
        for s, v in zip(page.layout.series, page.values, strict=True)
    }
    theirs = {(name, *sorted(labels.items())): value for name, labels, value in reference}
    assert ours.keys() == theirs.keys()
    assert all(ours[k] == v or (math.isnan(ours[k]) and math.isnan(v)) for k, v in theirs.items())


line = st.one_of(
    st.sampled_from(
        [
            b"up 1",
            b"up 2",
            b'a:b{x="1"} 3',
            b'a:b{x="2"} 4',
            b"c_total 5 7",
            b"# HELP up",
            b"",
            b" ",
            b"a:b{",
            b'a:b{x="\\"} 1"} 2',
            b"up",
            b"up\t3",
            b"#",
            b" # x",
            b"up 1\r",
            b"  up 4",
            b"up  1",
            b'up {x="1"} 1',
        ]
    ),
    st.binary(max_size=12),
    st.builds(
        lambda n, v: n + b" " + v,
        st.sampled_from([b"up", b"x", b'a:b{q="1"}']),
        st.binary(max_size=6),
    ),
)
page_bytes = st.lists(line, max_size=8).map(b"\n".join)


@given(st.lists(page_bytes, min_size=2, max_size=4))
def test_the_short_way_reads_what_the_long_way_reads(pages: list[bytes]) -> None:
    reader = PageReader(WANTED)
    for body in pages:
        fresh, kept = PageReader(WANTED).read(body), reader.read(body)
        assert as_pairs(kept) == as_pairs(fresh)
        assert kept.truncated == fresh.truncated
        assert kept.layout.malformed == fresh.layout.malformed


@given(st.data(), page_bytes)
def test_an_edited_page_reads_as_if_it_were_new(data: st.DataObject, body: bytes) -> None:
    reader = PageReader(WANTED)
    reader.read(body)
    lines = body.split(b"\n")
    where = data.draw(st.integers(0, len(lines) - 1))
    lines[where] = data.draw(line)
    edited = b"\n".join(lines)
    assert as_pairs(reader.read(edited)) == as_pairs(PageReader(WANTED).read(edited))
