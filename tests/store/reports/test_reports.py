"""Reports of a comparison: what they say, and that nothing of a run's own is markup in them."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eagletui.engine.imported.generate import run_of_replies
from eagletui.model.compare import Comparison, Judgement, Verdict, compare
from eagletui.model.run import Run, Surroundings, Workload
from eagletui.model.speculative import Speculative
from eagletui.model.text import visible
from eagletui.store.reports.page import page
from eagletui.store.reports.pictures import PARTS
from eagletui.store.reports.sheets import change, figure_sheets, names, sentences, sheets
from eagletui.store.reports.text import csv_text, markdown_lines, table_lines
from eagletui.store.runs.buckets import Buckets
from eagletui.tui.comparing import lines
from tests.recorded_replies import TABLE, replies
from tests.store.runs.made import made_cell, made_run

EVIL = '<script>alert("1")</script>&|`*_[x](http://e)\x1b[31m\u202e@you\n=1+1'


@pytest.fixture(scope="module")
def h200() -> Comparison:
    runs = [
        run_of_replies(
            enumerate(replies(row.file), 1), run=f"{index:012d}", name=row.file, source=""
        )
        for index, row in enumerate(TABLE)
    ]
    return compare(runs)


def _evil() -> Comparison:
    def run(number: int, text: str) -> Run:
        return made_run(
            f"{number:012d}",
            text,
            cells=(made_cell(requests=8 + number), made_cell(8)),
            workload=Workload(prompts=text, digest=str(number) * 64),
            surroundings=Surroundings(
                model=text,
                speculative=Speculative(algorithm=text, num_steps=number),
                environment={text: text, "NCCL_ALGO": text},
                versions={"sglang": text},
                gpus=(text,),
                topology=text,
                profile=text,
                memory_bytes=80 * 2**30,
                load_seconds=421.0,
            ),
        )

    return compare([run(1, f"a{EVIL}"), run(2, f"b{EVIL}"), run(3, f"c{EVIL}")])


def _row(comparison: Comparison, label: str) -> tuple[str, ...]:
    (sheet,) = figure_sheets(comparison)
    return next(row[1:] for row in sheet.rows if row[0] == label)


def test_the_recordings_as_a_sheet(h200: Comparison) -> None:
    assert _row(h200, "tok/s") == ("215.0", "270.6", "319.0", "344.2", "345.3", "342.4")
    assert _row(h200, "accept length") == ("1.00", "1.59", "1.96", "2.17", "2.34", "2.46")
    assert _row(h200, "step ms") == ("4.65", "5.88", "6.13", "6.31", "6.76", "7.15")
    assert _row(h200, "verdict") == ("–", *["faster"] * 5)
    assert _row(h200, "against the baseline")[:2] == ("baseline", "1.26× (1.24 to 1.27)")
    labels = [row[0] for row in figure_sheets(h200)[0].rows]
    # Nobody measured these.
    assert not {"verify ms", "TTFT p50 / p99 ms", "J per token"} & set(labels)
    assert labels.index("accepted at 1") < labels.index("accepted at 7") < labels.index("step ms")


def test_the_break_even_in_words(h200: Comparison) -> None:
    assert sentences(h200)[2] == (
        "dense_k3_c1 at 1: needs accept length ≥ 1.36, has 2.17 (step 6.31 ms against 4.65 ms)."
    )


def test_runs_of_one_name_are_told_apart() -> None:
    found = compare([made_run("a" * 12), made_run("b" * 12), made_run("c" * 12, "third")])
    assert names(found) == ("chain-2 aaaa", "chain-2 bbbb", "third")


def test_a_table_is_aligned_and_wraps_many_runs(h200: Comparison) -> None:
    lines = list(table_lines(h200))
    rows = [line.split() for line in lines if line.startswith("  tok/s  ")]
    assert rows == [
        ["tok/s", "215.0", "270.6", "319.0", "344.2"],
        ["tok/s", "345.3", "342.4"],
    ]
    assert max(map(len, lines)) <= 118
    for head, line in ((lines[i - 1], lines[i]) for i in range(1, len(lines))):
        if head.split()[:1] == ["dense_k0_c1"]:
            assert len(line.rstrip()) == len(head)  # the last column ends at one place


def test_a_long_value_breaks_no_table() -> None:
    def run(number: int) -> Run:
        plain = made_run(f"{number:012d}", f"r{number}")
        command = f"python -m sglang.launch_server {'--flag x ' * 60}--k {number}"
        arguments = {"quantization": f"fp{number}", "command": command, "launch_command": command}
        return replace(plain, surroundings=replace(plain.surroundings, arguments=arguments))

    found = compare([run(1), run(2)])
    lines = list(table_lines(found))
    assert max(map(len, lines)) <= 118
    begin = lines.index("What differs")
    assert "" not in lines[begin : begin + 4]
    (long,) = [line for line in lines if line.startswith("  command")]
    assert "python -m sglang.lau…" in long
    assert "--k 1" in long
    assert "--k 2" in long
    assert not [line for line in lines if "launch_command" in line]
    whole = "--flag x " * 60
    assert whole in "\n".join(markdown_lines(found)).replace("\\", "")


def test_what_stands_in_the_way_is_said_in_every_report() -> None:
    other = replace(
        made_run("b" * 12, "ll"),
        surroundings=replace(
            made_run().surroundings,
            speculative=Speculative(),
            environment={"NCCL_ALGO": "Tree"},
        ),
    )
    found = compare([other, made_run()])
    reports = ["\n".join(table_lines(found)), "\n".join(markdown_lines(found)), page(found)]
    for text in reports:
        plain = text.replace("\\", "")
        assert "the baseline was measured under another NCCL environment (NCCL_ALGO)" in plain
        assert "not comparable" in plain
        assert "NCCL_ALGO *" in plain
        assert "needs accept length" not in plain


# --- Markdown -------------------------------------------------------------------------------------


# What of a run is another → what stands at the verdict, beginning of the reason.
UNLIKE: tuple[tuple[dict[str, object], str, str], ...] = (
    ({"versions": {"sglang": "0.5.22"}}, "faster: another release",
     "another release (0.5.22, not 0.5.16)"),
    ({"gpus": ("NVIDIA B200",)}, "faster: another GPU",
     "another GPU (NVIDIA B200, not NVIDIA H200)"),
    ({"digest": "cd" * 32}, "not comparable: another prompt set",
     "another prompt set (cdcdcdcdcdcd, not abababababab)"),
    ({"temperature": 0.7}, "not comparable: another temperature",
     "another temperature (0.7, not 0.0)"),
    ({"environment": {"NCCL_ALGO": "Tree"}}, "not comparable: another NCCL environment",
     "the baseline was measured under another NCCL environment (NCCL_ALGO)"),
    ({"versions": {"sglang": "0.5.22"}, "gpus": ("B200",), "topology": "PCIe"},
     "faster: another release, GPU, …", "another release (0.5.22, not 0.5.16); another GPU"),
    ({"versions": {"sglang": "0.5.22"}, "environment": {"NCCL_ALGO": "Tree"}},
     "not comparable: another release, …", "the baseline was measured under another NCCL"),
)  # fmt: skip


@pytest.mark.parametrize(("fields", "flag", "why"), UNLIKE)
def test_what_is_unlike_stands_at_the_verdict_itself(
    fields: dict[str, object], flag: str, why: str
) -> None:
    old = made_run(surroundings=replace(made_run().surroundings, topology="NVLink"))
    around = {name: value for name, value in fields.items() if hasattr(old.surroundings, name)}
    asked = {name: value for name, value in fields.items() if name not in around}
    new = replace(
        old,
        id="b" * 12,
        name="new",
        cells=(made_cell(seconds=1.0), made_cell(8, seconds=1.0)),
        surroundings=replace(old.surroundings, **around),
        workload=replace(old.workload, **asked),
    )
    found = compare([old, new], old.id)
    rows = [row for sheet in figure_sheets(found) for row in sheet.rows if row[0] == "verdict"]
    assert rows == [("verdict", "–", flag)] * 2
    judgement = flag.partition(":")[0]
    for text in sentences(found)[-2:]:
        assert text.partition(": ")[2].startswith(f"{judgement}: {why}")
    for whole in (
        "\n".join(table_lines(found)),
        "\n".join(markdown_lines(found)),
        page(found),
    ):
        assert whole.count(flag) >= 2
    for line in csv.DictReader(io.StringIO(csv_text(found))):
        assert line["why"].startswith(why) or line["verdict"] == "baseline"
    short = flag.replace(": another ", " ≠ ")
    for width in (56, 76, 116, 196):
        screen = [line.plain for line in lines(found, width)]
        at = [index for index, line in enumerate(screen) if f" {judgement}" in line]
        assert len(at) == 2
        for index in at:
            shown = screen[index][screen[index].index(judgement) :]
            # 60 columns may cut it; the line below has it all.
            assert shown.startswith(short if width > 56 else short[: len(judgement)])
            below = " ".join(part.strip() for part in screen[index + 1 : index + 4])
            assert why.partition("; ")[0] in below


def test_markdown_tables_have_as_many_cells_as_their_head(h200: Comparison) -> None:
    for found in (h200, _evil()):
        rows = [line for line in markdown_lines(found) if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {len(found.sides) + 2}


def test_a_runs_text_is_no_markup_of_markdown() -> None:
    for line in markdown_lines(_evil()):
        assert not re.search(r"(?<!\\)[<`\[]", line.removeprefix("|"))
        assert "\x1b" not in line
        assert "\u202e" not in line
        assert "@you" not in line
        assert "\n" not in line


# --- CSV ------------------------------------------------------------------------------------------


def test_csv_has_a_line_for_each_run_and_concurrency(h200: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(h200))))
    assert [row["name"] for row in rows] == [row.file for row in TABLE]
    assert [float(row["tok_s"]) for row in rows] == pytest.approx(
        [row.tok_s for row in TABLE], abs=0.05
    )
    assert rows[0]["verdict"] == "baseline"
    assert float(rows[3]["needed_accept_length"]) == pytest.approx(6.31 / 4.65, abs=0.003)
    assert float(rows[3]["ratio"]) == pytest.approx(344.2 / 215.0, abs=0.001)


NAMES_IN_A_CELL = (
    "=cmd()", "+1", "-1", "@SUM(1)", "\uff1dcmd()", " =cmd()", "\t=cmd()", "\n+1", "'=1", "'",
    "''a",
    " both ends ", "trailing ", "a,b;c", 'a "quote"', '"', '""', '"=1', "two\nlines", "\n", "\ta",
    "two\r\nlines", "\r\n", "\r\n=1", "\n\r\n\t",
    "\u00e9\u4e2d", "1.5", "",
)  # fmt: skip


def _named_in_csv(name: str, **how: Any) -> str:
    """The name of a run as another program reads it."""
    found = compare([made_run("a" * 12, name, cells=(made_cell(),))])
    rows = list(csv.DictReader(io.StringIO(csv_text(found), newline=""), **how))
    assert len(rows) == 1
    assert (rows[0]["id"], rows[0]["verdict"], rows[0]["ratio"]) == ("a" * 12, "baseline", "")
    return rows[0]["name"]


@pytest.mark.parametrize("name", NAMES_IN_A_CELL)
@pytest.mark.parametrize("how", [{}, {"skipinitialspace": True}, {"strict": True}])
def test_csv_gives_the_very_same_text_and_holds_no_formula(name: str, how: dict[str, Any]) -> None:
    read = _named_in_csv(name, **how)
    assert read.strip()[:1] not in {"=", "+", "-", "@", "\uff1d"}
    assert read.removeprefix("'") == name


@given(st.text())
def test_csv_gives_any_text_as_it_may_be_shown(name: str) -> None:
    read = _named_in_csv(name)
    assert not read.lstrip().startswith(("=", "+", "-", "@"))
    shown = "\r\n".join(
        "\n".join("\t".join(map(visible, part.split("\t"))) for part in line.split("\n"))
        for line in name.split("\r\n")
    )
    assert read.removeprefix("'") == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a\rb", "a·b"), ("a\r\r\nb", "a·\r\nb"), ("a\u200bb\u202e", "a·b·"), ("\x1b[31mred", "red")],
)
def test_csv_shows_what_nobody_sees_as_a_dot(name: str, shown: str) -> None:
    assert _named_in_csv(name) == shown


def test_csv_marks_only_what_needs_it() -> None:
    assert [_named_in_csv(name) for name in ("k3", " both ends ", "a=b", "'k3'")] == [
        "k3", " both ends ", "a=b", "''k3'",
    ]  # fmt: skip


# --- HTML -----------------------------------------------------------------------------------------


class _Reader(HTMLParser):
    """Every tag, attribute and text of a page."""

    VOID = frozenset({"meta", "br", "rect", "line", "path", "circle", "polyline"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def _points(begin: float) -> Buckets:
    times, values = (begin, begin + 1, begin + 9), (1.0, 2.0, 3.0)
    return Buckets(times=times, low=values, high=values, mean=values, joined=(0, 1, 0))


SERIES = {f"{number:012d}": {EVIL: _points(1000.0 * number)} for number in (1, 2)}


def test_a_page_stands_alone_and_runs_nothing(h200: Comparison) -> None:
    for text in (page(h200), page(_evil(), SERIES)):
        read = _Reader(text)
        assert read.open == []
        assert not {"script", "iframe", "img", "link", "object", "a", "foreignobject"} & {
            *read.tags
        }
        assert not [name for name, _ in read.attributes if name.startswith("on")]
        assert not [name for name, _ in read.attributes if name in ("href", "src", "xlink:href")]
        assert "url(" not in text
        assert "@import" not in text
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "default-src 'none'" in text
        assert "prefers-color-scheme: dark" in text


def test_every_text_of_a_run_is_text_on_the_page() -> None:
    read = _Reader(page(_evil(), SERIES))
    assert any('<script>alert("1")</script>' in text for text in read.texts)


def _pictures(text: str) -> list[ET.Element]:
    return [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]


def test_pictures_are_whole_and_inside_their_frame(h200: Comparison) -> None:
    for text, count in ((page(h200), 3), (page(_evil(), SERIES), 4)):
        pictures = _pictures(text)
        assert len(pictures) == count
        for picture in pictures:
            _, _, width, height = map(float, picture.attrib["viewBox"].split())
            for element in picture.iter():
                for key, limit in (("x", width), ("cx", width), ("x2", width), ("y", height)):
                    assert -1 <= float(element.attrib.get(key, 0)) <= limit
                assert float(element.attrib.get("width", 0)) >= 0


def test_a_bar_is_as_long_as_its_speed(h200: Comparison) -> None:
    bars = [
        float(element.attrib["width"])
        for element in _pictures(page(h200))[0].iter()
        if element.tag == "rect"
    ]
    assert [width / bars[0] for width in bars] == pytest.approx(
        [row.tok_s / TABLE[0].tok_s for row in TABLE], abs=0.002
    )


def test_a_step_is_stacked_of_its_parts() -> None:
    """Of `made_cell`: 6.0, 0.5 and 0.4 of 8.0 ms, the rest is other."""
    picture = _pictures(page(compare([made_run("a" * 12, cells=(made_cell(),))])))[1]
    rects = [element for element in picture.iter() if element.tag == "rect"]
    bar = [float(one.attrib["width"]) for one in rects if one.attrib["height"] == "16"]
    assert [part / sum(bar) for part in bar] == pytest.approx(
        [6.0 / 8, 0.5 / 8, 0.4 / 8, 1.1 / 8], abs=0.002
    )
    colours = [one.attrib["fill"] for one in rects if one.attrib["height"] == "16"]
    assert colours == [colour for _, colour in PARTS[:4]]
    words = [element.text for element in picture.iter() if element.tag == "text"]
    assert {"verify", "draft", "draft extend", "other"} <= {*words}


def test_a_step_of_unknown_parts_is_called_so(h200: Comparison) -> None:
    picture = _pictures(page(h200))[1]
    words = [element.text for element in picture.iter() if element.tag == "text"]
    assert "a step of unknown parts" in words
    assert not {"verify", "other"} & {*words}


def test_the_curve_over_k_has_a_point_for_each(h200: Comparison) -> None:
    picture = _pictures(page(h200))[2]
    circles = [element for element in picture.iter() if element.tag == "circle"]
    assert len(circles) == len(TABLE)
    heights = [float(circle.attrib["cy"]) for circle in circles]
    assert heights[0] == max(heights)  # k = 0 is the slowest, the lowest on the page
    assert min(heights) in heights[3:5]


def test_lines_are_aligned_at_their_beginnings() -> None:
    picture = _pictures(page(_evil(), SERIES))[3]
    paths = [element.attrib["d"] for element in picture.iter() if element.tag == "path"]
    assert len(paths) == 2
    assert paths[0] == paths[1]
    assert paths[0].count("M") == 2  # a gap
    assert paths[0].count("L") == 1
    words = [element.text for element in picture.iter() if element.tag == "text"]
    assert [word for word in words if word and word[-1] == "s" and word[:-1].isdecimal()] == [
        "2s", "4s", "6s", "8s",
    ]  # fmt: skip


def test_nothing_known_draws_nothing() -> None:
    empty = compare([made_run("a" * 12, cells=()), made_run("b" * 12, cells=())])
    assert "<svg" not in page(empty)
    assert [sheet.title for sheet in sheets(empty)] == ["Runs"]
    assert list(markdown_lines(empty))
    assert csv_text(empty).count("\n") == 1


@pytest.mark.parametrize(
    ("ratio", "low", "high", "verdict", "said"),
    [
        (0.995, 0.992, 0.997, "slower", "0.995× (0.992 to 0.997)"),
        (1.006, 1.003, 1.009, "faster", "1.006× (1.003 to 1.009)"),
        (1.001, 0.997, 1.004, "tie", "1.00× (1.00 to 1.00)"),
        (1.6, 1.55, 1.65, "faster", "1.60× (1.55 to 1.65)"),
        (1.6, None, None, "faster", "1.60×"),
    ],
)
def test_a_ratio_never_contradicts_its_verdict(
    ratio: float, low: float | None, high: float | None, verdict: Judgement, said: str
) -> None:
    found = Verdict(
        run="a", concurrency=1, ratio=ratio, low=low, high=high, verdict=verdict, why=""
    )
    assert change(found) == said
