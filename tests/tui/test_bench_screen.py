"""The benchmark's screen, driven by keys over a benchmarker without a host."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from eagletui.bench.plan import Prompt
from eagletui.model.benchmarking import Moment, Subject, Wish
from eagletui.model.speculative import Speculative
from eagletui.tui import prompt_files
from eagletui.tui.app import EagleApp
from eagletui.tui.bench_form import ENTRIES, complaint, cycled, entry_line, text_of, typed
from eagletui.tui.benching import cell_lines, plan_words, setting, wish_words
from eagletui.tui.config import HostSettings, Settings
from eagletui.tui.prompt_files import Looked, PromptFiles
from eagletui.tui.screens.bench import BenchScreen, PromptsLooked
from eagletui.tui.screens.confirm import Confirm
from eagletui.tui.screens.main import MainScreen
from tests.no_numbers import NO_NUMBERS
from tests.tui.benchmarker import LOOPED, WHOLE, FakeBenchmarker, under
from tests.tui.driving import QuietFeed, make_app, settle
from tests.tui.scenes import SCENES
from tests.tui.switcher import FakeSwitcher
from tests.tui.text_snapshot import screen_text


@asynccontextmanager
async def running(
    benchmarker: FakeBenchmarker,
    settings: Settings | None = None,
    *,
    scene: str = "serving",
    read_only: bool = False,
    switcher: FakeSwitcher | None = None,
    size: tuple[int, int] = (80, 24),
) -> AsyncIterator[tuple[EagleApp, Pilot[None]]]:
    app = make_app(
        SCENES[scene](),
        settings,
        read_only=read_only,
        benchmarker=benchmarker,
        switcher=switcher,
    )
    async with app.run_test(size=size, notifications=True) as pilot:
        await settle(pilot)
        yield app, pilot


async def press(pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settle(pilot)


async def begun(pilot: Pilot[None]) -> None:
    """From the main screen into a benchmark of the defaults."""
    await press(pilot, "B", "enter", "right", "enter")


async def test_one_enter_asks_with_cancel_in_focus_and_the_next_changes_nothing() -> None:
    benchmarker = FakeBenchmarker()
    async with running(benchmarker) as (app, pilot):
        await press(pilot, "B")
        assert isinstance(app.screen, BenchScreen)
        assert "6 cells, 192 requests of 256 output tokens." in screen_text(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, Confirm)
        assert app.screen.focused is app.screen.query_one("#no")
        assert "Others use the server now (4 running" in screen_text(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, BenchScreen)
        assert benchmarker.wishes == []
        await press(pilot, "enter", "right", "enter")
        assert benchmarker.wishes == [
            (
                Wish(),
                Subject(pid=4242, url="http://127.0.0.1:30000", name="Kimi-K2.5", setting="k=3"),
            )
        ]


async def test_arrows_and_typing_fill_in_the_form() -> None:
    benchmarker = FakeBenchmarker()
    async with running(benchmarker) as (_, pilot):
        await press(pilot, "B", "right", "down", "right", "down", "left", "down", "e")
        await press(pilot, "backspace", "7", "enter", "enter", "right", "enter")
        wish = Wish(prompts="code", concurrencies=(1, 8, 32), output_tokens=128, repeats=7)
        assert [asked for asked, _ in benchmarker.wishes] == [wish]


async def typed_prompts(pilot: Pilot[None], given: str) -> None:
    """From the main screen into a form with these prompts."""
    await press(pilot, "B", "e")
    field = pilot.app.screen.query_one(Input)
    field.value = given
    await press(pilot, "enter")
    await looked_at(pilot)


async def looked_at(pilot: Pilot[None]) -> None:
    """A file was read, on a thread."""
    for worker in [worker for worker in pilot.app.workers if worker.group == "prompts"]:
        await worker.wait()
    await settle(pilot)


def nothing(path: Path) -> None:
    """It stays absent."""


def empty(path: Path) -> None:
    path.touch()


def binary(path: Path) -> None:
    path.write_bytes(b"PAR1\0\0")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def one_long_line(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"x" * ((4 << 20) + 1))


def put_right(path: Path) -> None:
    if path.is_dir():
        path.rmdir()
    path.unlink(missing_ok=True)
    path.write_text("one\ntwo\n")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (nothing, "cannot be read: No such file or directory. Check its path."),
        (Path.mkdir, "is a folder, not a file of prompts. Name a file in it."),
        (empty, "holds no prompt. Write one prompt a line"),
        (binary, "is no text: it has zero bytes. Unpack it first"),
        (pipe, "is a pipe, not a file of prompts. Write the prompts into a file"),
        (device, "is a device, not a file of prompts. Name a file."),
        (one_long_line, "line 1 has more than 4 MB. No context"),
    ],
)
async def test_prompts_that_cannot_be_used_are_said_beside_them_and_nothing_is_measured(
    make: Callable[[Path], None], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make(Path("my.jsonl"))
    benchmarker = FakeBenchmarker()
    async with running(benchmarker, size=(120, 30)) as (app, pilot):
        await typed_prompts(pilot, "./my.jsonl")
        field = next(row for row in screen_text(app).splitlines() if "prompts  " in row)
        assert f"✖ {said.split('.')[0]}" in field
        await press(pilot, "down", "enter")
        await looked_at(pilot)
        assert isinstance(app.screen, BenchScreen)
        text = " ".join(screen_text(app).replace("│", " ").split())
        assert f"✖ my.jsonl{said}" in re.sub(r"my.jsonl[,:]? ", "my.jsonl", text)
        assert "Not measured" in text
        # What was put right meanwhile needs no other word.
        put_right(Path("my.jsonl"))
        await press(pilot, "enter")
        await looked_at(pilot)
        assert isinstance(app.screen, Confirm)
        await press(pilot, "right", "enter")
        assert [wish.prompts for wish, _ in benchmarker.wishes] == ["./my.jsonl"]


async def test_a_file_of_prompts_says_how_many_requests_it_makes(tmp_path: Path) -> None:
    path = tmp_path / "five.txt"
    path.write_text("\n".join("abcde"))
    async with running(FakeBenchmarker()) as (app, pilot):
        await typed_prompts(pilot, str(path))
        # Whole rounds of five prompts, at least as many as a cell needs.
        assert "6 cells, 210 requests of" in screen_text(app)
        await press(pilot, "right")
        assert "6 cells, 192 requests of" in screen_text(app)


def panel_and_question(app: EagleApp) -> list[str]:
    """How many requests the form says, or the question over it."""
    return re.findall(r"cells, ([\d,]+) requests", " ".join(screen_text(app).split()))


async def test_requests_are_counted_with_as_many_prompts_as_are_read_for_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "many.txt"
    path.write_text("\n".join(f"prompt {number}" for number in range(24)))
    rows = [entry.name for entry in ENTRIES]
    to_requests = ["down"] * (rows.index("requests") - rows.index("prompts"))
    async with running(FakeBenchmarker(), size=(120, 40)) as (app, pilot):
        await typed_prompts(pilot, str(path))
        assert panel_and_question(app) == ["288"]
        await press(pilot, *to_requests)
        # auto, 4, 8 and back: of the file no more is read than is sent.
        for key, said in (("right", 24), ("right", 48), ("left", 24), ("left", 288)):
            await press(pilot, key)
            await looked_at(pilot)
            assert panel_and_question(app) == [str(said)]
            await press(pilot, "enter")
            await looked_at(pilot)
            assert isinstance(app.screen, Confirm)
            assert f"{said} requests" in screen_text(app)
            await press(pilot, "enter")  # on Cancel


async def test_what_was_looked_at_for_another_wish_comes_too_late(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_text("\n".join(f"prompt {number}" for number in range(24)))
    async with running(FakeBenchmarker(), size=(120, 40)) as (app, pilot):
        await typed_prompts(pilot, str(path))
        for late in (
            Looked(str(path), 8, prompts=8),
            Looked("/other", None, prompts=8),
            Looked("/other", 8, problem="gone.", said="gone."),
        ):
            app.screen.post_message(PromptsLooked(late))
            await settle(pilot)
            assert panel_and_question(app) == ["288"]


class DeadDisk:
    """A disk on which every read hangs until the test is over, or until `answer` is set."""

    def __init__(self) -> None:
        self.answer = threading.Event()
        self.reads: list[tuple[object, ...]] = []
        self.ended = 0

    def __call__(self, *asked: object) -> tuple[str, tuple[Prompt, ...]]:
        self.reads.append(asked)
        self.answer.wait(20)
        self.ended += 1
        return "far", (Prompt(text="one"), Prompt(text="two"))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[DeadDisk]:
    found = DeadDisk()
    monkeypatch.setattr(prompt_files, "find_prompts", found)
    yield found
    found.answer.set()


def test_leaving_does_not_wait_for_a_disk_that_does_not_answer(disk: DeadDisk) -> None:
    looked = asyncio.run(PromptFiles(wait=0.05).look(Wish(prompts="/far/away")))
    # `asyncio.run` is over, and the read is not.
    assert (len(disk.reads), disk.ended) == (1, 0)
    assert looked.prompts is None
    assert looked.problem == "could not be read in 0 s."


async def test_a_disk_that_does_not_answer_is_asked_once(disk: DeadDisk) -> None:
    files = PromptFiles(wait=0.05)
    before = threading.active_count()
    await files.look(Wish(prompts="/far/away"))
    for given in ("/far/away", "/far/./away", "/far//away") * 10:
        looked = await files.look(Wish(prompts=given, requests=8))
        assert looked.problem == "is still being read."
        assert looked.said == (
            f"{given} is still being read. Its disk does not answer: name a file on another one."
        )
    assert (await files.look(Wish(prompts="/far/other"))).problem == "could not be read in 0 s."
    assert disk.reads == [("/far/away", None), ("/far/other", None)]
    assert threading.active_count() == before + 2


async def test_a_disk_that_answers_again_is_asked_again(disk: DeadDisk) -> None:
    files = PromptFiles(wait=0.05)
    await files.look(Wish(prompts="/far/away"))
    disk.answer.set()
    for thread in [thread for thread in threading.enumerate() if thread.name == "aside"]:
        thread.join(60)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (await files.look(Wish(prompts="/far/away", requests=8))).prompts == 2
    assert disk.reads == [("/far/away", None), ("/far/away", 8)]


async def test_a_look_waits_for_the_one_before_it(disk: DeadDisk) -> None:
    files = PromptFiles()
    first = asyncio.ensure_future(files.look(Wish(prompts="/far/away")))
    await asyncio.sleep(0)
    first.cancel()
    second = asyncio.ensure_future(files.look(Wish(prompts="/far/away", requests=8)))
    await asyncio.sleep(0)
    assert len(disk.reads) == 1
    disk.answer.set()
    assert (await second).prompts == 2
    assert disk.reads == [("/far/away", None), ("/far/away", 8)]


async def test_each_enter_on_a_dead_disk_says_so_and_reads_nothing(disk: DeadDisk) -> None:
    async with running(FakeBenchmarker(), size=(120, 30)) as (app, pilot):
        app.prompt_files = PromptFiles(wait=0.05)
        await typed_prompts(pilot, "/far/away")
        for _ in range(3):
            await press(pilot, "down", "enter")
            await looked_at(pilot)
            field = next(row for row in screen_text(app).splitlines() if "prompts  " in row)
            assert "✖ is still being read" in field
        assert len(disk.reads) == 1


async def test_cells_come_in_and_what_spoils_them_is_said() -> None:
    benchmarker = FakeBenchmarker()
    async with running(benchmarker) as (app, pilot):
        await begun(pilot)
        benchmarker.tell(under=under(done=0, tok_s=None, warming=True))
        await settle(pilot)
        assert "warm-up 0/32 requests" in screen_text(app)
        assert "starting" not in screen_text(app)
        benchmarker.tell(under=under(done=0, tok_s=None))
        await settle(pilot)
        assert " 0/32 requests  starting" in screen_text(app)
        benchmarker.tell(under=under(), measured=(WHOLE,))
        await settle(pilot)
        text = screen_text(app)
        assert "starting" not in text
        assert "cell 2/6" in text
        assert "about 4 min left" in text
        assert "12/32 requests  310 tok/s" in text
        row = next(row for row in text.splitlines() if "✔ c=1" in row)
        assert [
            part for part in row.replace("/", " ").split() if part in ("94.0", "2.10", "182", "240")
        ] == ["94.0", "2.10", "182", "240"]
        benchmarker.tell(under=under(number=3, concurrency=1), measured=(WHOLE, LOOPED))
        await settle(pilot)
        text = screen_text(app)
        assert "▲ c=8" in text
        assert "looped" in text
        assert "9 of 16 outputs loop" in text


async def test_the_other_screens_live_on_and_the_header_says_how_far_it_is() -> None:
    benchmarker = FakeBenchmarker()
    async with running(benchmarker) as (app, pilot):
        await begun(pilot)
        benchmarker.tell(under=under(), measured=(WHOLE,))
        await press(pilot, "escape")
        assert isinstance(app.screen, MainScreen)
        assert "bench 2/6" in screen_text(app).splitlines()[0]
        benchmarker.tell(under=under(number=5))
        await settle(pilot)
        assert "bench 5/6" in screen_text(app).splitlines()[0]
        await press(pilot, "B")
        assert "cell 5/6" in screen_text(app)
        benchmarker.tell(under=None, over=True, measured=(WHOLE,) * 6)
        await settle(pilot)
        assert "bench" not in screen_text(app).splitlines()[0]
        assert benchmarker.left == 1


async def test_it_is_scraped_seldom_while_streams_are_timed() -> None:
    benchmarker, feed = FakeBenchmarker(), QuietFeed(SCENES["serving"]())
    app = make_app(feed=feed, benchmarker=benchmarker)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await begun(pilot)
        assert feed.wishes == [("interval", 5.0)]
        await press(pilot, "escape")
        assert "every 5 s" in screen_text(app).splitlines()[0]
        await press(pilot, "minus", "plus", "plus", "plus", "plus")
        assert feed.wishes[-1] == ("interval", 10.0)
        benchmarker.tell(under=None, over=True)
        await press(pilot, "minus", "minus", "minus")
        assert feed.wishes[-1] == ("interval", 1.0)
        assert "every 1 s" in screen_text(app).splitlines()[0]


async def test_cancelling_asks_and_keeps() -> None:
    benchmarker = FakeBenchmarker()
    async with running(benchmarker) as (app, pilot):
        await begun(pilot)
        benchmarker.tell(under=under(), measured=(WHOLE,))
        await press(pilot, "x", "enter")
        assert benchmarker.cancelled == 0
        await press(pilot, "x", "right", "enter")
        assert benchmarker.cancelled == 1
        benchmarker.tell(cancelling=True)
        await settle(pilot)
        assert "ending; what was measured is kept" in screen_text(app)
        benchmarker.tell(under=None, over=True, partial=True)
        await settle(pilot)
        assert "; what was measured is kept" in screen_text(app)
        await press(pilot, "n")
        assert "6 cells, 192 requests" in screen_text(app)


async def test_what_ended_while_another_screen_was_looked_at_is_there_still() -> None:
    benchmarker = FakeBenchmarker()
    async with running(benchmarker) as (app, pilot):
        await begun(pilot)
        benchmarker.tell(under=under(), measured=(WHOLE,))
        await press(pilot, "escape")
        benchmarker.tell(under=None, over=True, partial=True, measured=(WHOLE, LOOPED))
        await settle(pilot)
        await press(pilot, "B")
        assert LOOPED.why[:20] in screen_text(app)
        await press(pilot, "n")
        assert "6 cells, 192 requests" in screen_text(app)


async def test_leaving_asks_and_then_ends_it() -> None:
    benchmarker = FakeBenchmarker()
    async with running(benchmarker) as (app, pilot):
        await begun(pilot)
        benchmarker.tell(under=under())
        await press(pilot, "q")
        assert "leave during the benchmark?" in screen_text(app)
        await press(pilot, "enter")
        assert app.is_running
    assert benchmarker.left == 1


@pytest.mark.parametrize(
    ("scene", "read_only", "said"),
    [
        ("serving", True, "Read-only"),
        ("loading", False, "The server is not ready yet."),
        ("crashed", False, "No server runs here"),
    ],
)
async def test_what_cannot_be_measured_says_why(scene: str, read_only: bool, said: str) -> None:
    benchmarker = FakeBenchmarker()
    async with running(benchmarker, scene=scene, read_only=read_only) as (app, pilot):
        await press(pilot, "B", "enter")
        assert isinstance(app.screen, BenchScreen)
        text = " ".join(screen_text(app).split())
        assert said in text
        # Of a server that is gone nothing is said as of one that runs.
        assert ("use the server now" in text) is (scene != "crashed")
        assert benchmarker.wishes == []


async def test_a_protected_host_wants_its_name() -> None:
    benchmarker = FakeBenchmarker()
    settings = Settings(hosts={"gpu1": HostSettings(protected=True)})
    async with running(benchmarker, settings) as (_, pilot):
        await press(pilot, "B", "enter", "g", "p", "u", "enter")
        assert benchmarker.wishes == []
        await press(pilot, "1", "enter")
        assert len(benchmarker.wishes) == 1


async def test_nothing_is_restarted_while_it_is_measured() -> None:
    benchmarker, switcher = FakeBenchmarker(), FakeSwitcher()
    async with running(benchmarker, switcher=switcher) as (app, pilot):
        await begun(pilot)
        benchmarker.tell(under=under())
        await press(pilot, "escape", "s", "down", "down", "enter")
        assert "What runs is being measured" in " ".join(screen_text(app).split())
        assert switcher.made("begin") == []


def test_every_choice_of_the_form_is_good_and_comes_back() -> None:
    for entry in ENTRIES:
        wish = Wish()
        for choice in entry.choices:
            assert complaint(entry, choice) == ""
            assert text_of(entry, typed(wish, entry, choice)) == choice
        first = cycled(wish, entry, 1)
        assert cycled(first, entry, -1) == wish


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("concurrencies", "1,,8"), ("concurrencies", "0"), ("concurrencies", "9999"),
        ("output_tokens", "1"), ("output_tokens", "x"), ("repeats", "0"), ("requests", "-1"),
        ("temperature", "2.1"), ("temperature", "nan"), ("prompts", " "),
        *((name, text) for name in ("concurrencies", "output_tokens", "requests", "temperature")
          for text in NO_NUMBERS),
    ],
)  # fmt: skip
def test_what_cannot_be_typed(name: str, text: str) -> None:
    entry = next(entry for entry in ENTRIES if entry.name == name)
    assert complaint(entry, text)


@pytest.mark.parametrize(
    ("speculative", "said"),
    [
        (Speculative(), "off"),
        (Speculative(algorithm="EAGLE3", num_steps=2, eagle_topk=1), "k=2"),
        (Speculative(algorithm="EAGLE", num_steps=5, eagle_topk=4), "k=5 topk=4"),
        (Speculative(algorithm="NGRAM"), "NGRAM"),
    ],
)
def test_a_runs_name_begins_with_what_was_tried(speculative: Speculative, said: str) -> None:
    assert setting(speculative) == said


def test_what_would_be_sent_is_what_the_plan_sends() -> None:
    assert plan_words(Wish(concurrencies=(1, 64), repeats=2)) == (
        "4 cells, 576 requests of 256 output tokens"
    )
    assert plan_words(Wish(concurrencies=(3,), repeats=1, requests=5)) == (
        "1 cell, 5 requests of 256 output tokens"
    )


@pytest.mark.parametrize("width", [20, 40, 116])
@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("text", ["x" * 400, "字" * 200, "a\nb\x1b[31mc"])
def test_a_line_of_the_form_is_one_line_whatever_was_typed(
    text: str, chosen: bool, width: int
) -> None:
    drawn = entry_line(ENTRIES[0], Wish(prompts=text), width, chosen=chosen)
    assert drawn.cell_length <= max(width, 23)
    assert not set(drawn.plain) & {"\n", "\x1b"}


def test_a_thousand_cells_are_not_drawn_one_by_one() -> None:
    wish = Wish(concurrencies=tuple(range(1, 601)))
    assert (
        wish_words(wish) == "chat, c=1,2,3,4,5,6,7,8,9,10,…,600 (600 in all), 256 tokens, 3 repeats"
    )
    moment = Moment(wish=wish, subject=Subject(), began=0.0, at=0.0)
    drawn = [drawn.plain for drawn in cell_lines(moment, 116)]
    assert len(drawn) == 32
    assert drawn[-1] == "  and 1,770 more cells"
