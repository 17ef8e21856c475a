"""The log view, driven as a person would."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.scrollbar import ScrollTo

from eagletui.model.logstore import LogStore
from eagletui.tui.widgets import log_view
from eagletui.tui.widgets.log_view import LogView
from tests.tui.text_snapshot import assert_snapshot, screen_text

STAMP = b"[2026-11-29 12:30:19 TP0] "


class LogApp(App[None]):
    def __init__(self, data: bytes = b"", limit: int = 64 << 20) -> None:
        super().__init__()
        self.store = LogStore(limit)
        self.store.append(data)
        self.view = LogView(self.store)
        self.pending: list[int] = []
        self.found: list[tuple[str, int | None, bool]] = []

    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.view.focus()

    def on_log_view_pending(self, message: LogView.Pending) -> None:
        self.pending.append(message.count)

    def on_log_view_found(self, message: LogView.Found) -> None:
        self.found.append((message.what, message.line, message.wrapped))


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    """Let the app work until the condition holds, 20 s at most."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        await pilot.pause(0.005)
    await pilot.pause()


def rows(app: LogApp) -> list[str]:
    return [line.rstrip(" ▁▂▃▄▅▆▇█") for line in screen_text(app).splitlines()]


def numbered(begin: int, end: int) -> bytes:
    return b"".join(b"line %d\n" % n for n in range(begin, end))


async def settle(pilot: Pilot[None], app: LogApp) -> None:
    app.view.extended()
    await until(pilot, lambda: app.view.index.complete and not app.view._ticking)


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_an_error_reads_as_its_snapshot(recordings: Path, size: tuple[int, int]) -> None:
    app = LogApp((recordings / "cpu-crash-oom.log").read_bytes())
    async with app.run_test(size=size) as pilot:
        await settle(pilot, app)
        await pilot.press("g", "e")
        await until(pilot, lambda: bool(app.found))
        assert_snapshot(app, f"log-error-{size[0]}x{size[1]}")
        await pilot.press("w")
        await pilot.pause()
        assert_snapshot(app, f"log-error-{size[0]}x{size[1]}-wrapped")


async def test_following_stops_when_scrolled_up_and_counts() -> None:
    app = LogApp(numbered(0, 100))
    async with app.run_test(size=(40, 10)) as pilot:
        await settle(pilot, app)
        assert rows(app)[-1].strip() == "line 99"
        await pilot.press("up")
        assert not app.view.follow
        app.store.append(numbered(100, 130))
        await settle(pilot, app)
        assert rows(app)[0].strip() == "line 89"
        assert rows(app)[-1].endswith("+30 lines ↓ f")
        assert app.pending[-1] == 30
        await pilot.press("f")
        await settle(pilot, app)
        assert app.view.follow
        assert rows(app)[-1].strip() == "line 129"
        assert app.pending[-1] == 0


async def test_only_the_person_ends_following() -> None:
    app = LogApp(numbered(0, 300))
    async with app.run_test(size=(40, 10)) as pilot:
        await settle(pilot, app)
        for size in ((40, 30), (40, 5), (80, 12)):
            await pilot.resize_terminal(*size)
            app.view.include = "" if app.view.include else "7"
            app.store.append(numbered(300, 340))
            await settle(pilot, app)
            assert app.view.follow
            assert app.view.scroll_y == app.view.max_scroll_y
        app.view.include = ""
        await settle(pilot, app)
        assert rows(app)[-1].strip() == "line 339"


async def test_dragging_the_scrollbar_ends_following() -> None:
    app = LogApp(numbered(0, 300))
    async with app.run_test(size=(40, 10)) as pilot:
        await settle(pilot, app)
        app.view.vertical_scrollbar.post_message(ScrollTo(y=100))
        await settle(pilot, app)
        assert not app.view.follow
        assert rows(app)[0].strip() == "line 100"


async def test_the_mouse_wheel_stops_following_and_a_click_resumes() -> None:
    app = LogApp(numbered(0, 100))
    async with app.run_test(size=(40, 10)) as pilot:
        await settle(pilot, app)
        app.view.on_mouse_scroll_up()
        app.store.append(numbered(100, 101))
        await settle(pilot, app)
        assert rows(app)[-1].endswith("+1 line ↓ f")
        await pilot.click(LogView, offset=(35, 9))
        await settle(pilot, app)
        assert app.view.follow


async def test_the_place_is_a_line_even_when_old_lines_are_dropped() -> None:
    filler = b"".join(b"%x\n" % (hash(n * 7919) ** 4) for n in range(30_000))
    app = LogApp(filler + numbered(0, 20_000), limit=1_500_000)
    async with app.run_test(size=(40, 10)) as pilot:
        await settle(pilot, app)
        first = app.store.first
        app.view.go_to(app.store.end - 5_000)
        await settle(pilot, app)
        before = rows(app)
        assert "line 15000" in "\n".join(before)
        while app.store.first == first:
            app.store.append(b"".join(b"%x\n" % (hash(n * 77) ** 4) for n in range(10_000)))
        await settle(pilot, app)
        assert [row.split("  +")[0] for row in rows(app)[:-1]] == before[:-1]


async def test_filters_work_whether_following_or_not_and_keep_the_place() -> None:
    data = b"".join(STAMP + b"%s %d\n" % (b"odd" if n % 2 else b"even", n) for n in range(3000))
    app = LogApp(data)
    async with app.run_test(size=(60, 10)) as pilot:
        await settle(pilot, app)
        app.view.go_to(1000)
        await settle(pilot, app)
        top = app.view._anchor
        app.view.include = "odd"
        await settle(pilot, app)
        assert not app.view.follow
        assert rows(app)[0].endswith(f"odd {top | 1}")
        assert all("odd" in row for row in rows(app))
        app.view.include = ""
        await settle(pilot, app)
        assert rows(app)[0].endswith(f" {top}")
        await pilot.press("f")
        app.view.exclude = "odd"
        await settle(pilot, app)
        assert rows(app)[-1].endswith("even 2998")


async def test_no_line_passes_is_said_only_once_every_line_was_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = LogApp(numbered(0, 20_000))
    app.view.when_empty = "none passes"
    monkeypatch.setattr(log_view, "SLICE", 0.0)
    async with app.run_test(size=(60, 10)) as pilot:
        app.view.include = "never"
        while not app.view.index.complete:
            assert "none passes" not in screen_text(app)
            await pilot.pause()
        await settle(pilot, app)
        assert rows(app)[0] == "none passes"
        app.store.append(numbered(20_000, 40_000))
        app.view.refresh()
        await pilot.pause()
        assert rows(app)[0] == "none passes"
        app.view.include = "line 39999"
        assert not app.view.index.complete
        assert "none passes" not in screen_text(app)
        await settle(pilot, app)
        assert rows(app)[0] == "  line 39999"


async def test_polls_and_bars_are_hidden_until_asked_for() -> None:
    poll = b'INFO:     127.0.0.1:1 - "GET /metrics HTTP/1.1" 200 OK\n'
    app = LogApp(b"a\n" + poll + b"\rx: 10%|\rx: 20%|\n" + poll)
    async with app.run_test(size=(70, 10)) as pilot:
        await settle(pilot, app)
        assert [row.strip() for row in rows(app)[:3]] == ["a", "x: 20%|", ""]
        app.view.show_polls = True
        await settle(pilot, app)
        assert sum("/metrics" in row for row in rows(app)) == 2
        app.view.show_bars = True
        await settle(pilot, app)
        assert "x: 10%|" in "\n".join(rows(app))


async def test_search_goes_forth_back_and_around() -> None:
    app = LogApp(numbered(0, 5000))
    async with app.run_test(size=(40, 10)) as pilot:
        await settle(pilot, app)
        await pilot.press("g")
        app.view.search("line 4.77")
        await until(pilot, lambda: len(app.found) == 1)
        for _ in range(10):
            await pilot.press("n")
        await until(pilot, lambda: not app.view._finder.busy)
        await pilot.press("N")
        await until(pilot, lambda: not app.view._finder.busy)
        lines = [line for _, line, _ in app.found]
        assert lines == [*range(4077, 5000, 100), 4077, 4977]
        assert [wrapped for _, _, wrapped in app.found].index(True) == 10
        assert any(row.startswith(" ▶line 4977") or "▶" in row for row in rows(app))
        app.view.search("nowhere")
        await until(pilot, lambda: app.found[-1][1] is None)


async def test_search_passes_over_hidden_lines() -> None:
    app = LogApp(b"x hidden\nx seen\n" * 50)
    async with app.run_test(size=(40, 10)) as pilot:
        app.view.exclude = "hidden"
        await settle(pilot, app)
        await pilot.press("g")
        app.view.search("x")
        await until(pilot, lambda: len(app.found) == 1)
        assert app.found[0][1] == 1


async def test_error_keys_take_a_traceback_as_one() -> None:
    trace = (
        STAMP + b"x hit an exception: Traceback (most recent call last):\n  File\nValueError: y\n"
    )
    app = LogApp(
        numbered(0, 50) + trace + numbered(0, 50) + b"Segmentation fault\n" + numbered(0, 9)
    )
    async with app.run_test(size=(40, 10)) as pilot:
        await settle(pilot, app)
        await pilot.press("g", "e")
        await until(pilot, lambda: len(app.found) == 1)
        await pilot.press("e")
        await until(pilot, lambda: len(app.found) == 2)
        await pilot.press("E")
        await until(pilot, lambda: len(app.found) == 3)
        assert [line for _, line, _ in app.found] == [50, 103, 50]


CHAINED = (
    STAMP
    + b"Scheduler hit an exception: Traceback (most recent call last):\n"
    + b'  File "a.py", line 1, in f\n' * 150
    + b"KeyError: 'x'\n\n%s\n\nTraceback (most recent call last):\n"
    + b'  File "b.py", line 2, in g\n    raise ValueError()\n' * 100
    + b"ValueError: y\n"
)


@pytest.mark.parametrize(
    "words",
    [
        b"During handling of the above exception, another exception occurred:",
        b"The above exception was the direct cause of the following exception:",
    ],
)
async def test_chained_tracebacks_are_one_error_whatever_their_length(words: bytes) -> None:
    chained = CHAINED % words
    app = LogApp(numbered(0, 20) + chained + numbered(0, 20) + chained)
    second = 40 + chained.count(b"\n")
    async with app.run_test(size=(40, 10)) as pilot:
        await settle(pilot, app)
        await pilot.press("g", "e")
        for count, key in enumerate("eeEE", start=1):
            await until(pilot, lambda count=count: len(app.found) == count)  # type: ignore[misc]
            await pilot.press(key)
        await until(pilot, lambda: len(app.found) == 5)
        assert [line for _, line, _ in app.found] == [20, second, 20, second, 20]


async def test_an_unended_last_line_obeys_the_filters() -> None:
    poll = b'INFO:     127.0.0.1:1 - "GET /metrics HTTP/1.1" 200 OK'
    app = LogApp(b"a\n" + poll)
    async with app.run_test(size=(80, 5)) as pilot:
        await settle(pilot, app)
        assert [row.strip() for row in rows(app)] == ["a", "", "", "", ""]
        app.view.show_polls = True
        await settle(pilot, app)
        assert rows(app)[1].strip() == poll.decode()
        app.view.level = "error"
        await settle(pilot, app)
        assert [row.strip() for row in rows(app)] == [""] * 5
        app.store.append(b"\n" + STAMP + b"Traceback (most recent call last):\n  File x")
        await settle(pilot, app)
        assert [row.strip() for row in rows(app)[1:3]] == ["✖   File x", ""]


async def test_a_wrapped_line_taller_than_the_view_can_be_read_to_its_end() -> None:
    long = b" ".join(b"w%03d" % n for n in range(200))
    app = LogApp(b"before\n" + long + b"\nafter\n")
    async with app.run_test(size=(43, 6)) as pilot:
        await settle(pilot, app)
        await pilot.press("g", "w")
        await settle(pilot, app)
        assert rows(app)[:2] == [" ▶before", "  w000 w001 w002 w003 w004 w005 w006 w007"]
        seen: list[str] = []
        for _ in range(40):
            seen += [row.strip(" ▶") for row in rows(app)]
            await pilot.press("down")
        assert rows(app)[0].strip() == "after"
        words = [word for row in dict.fromkeys(seen) for word in row.split()]
        assert words == ["before", *long.decode().split(), "after"]
        back: list[str] = []
        for _ in range(40):
            await pilot.press("up")
            back += [row.strip(" ▶") for row in rows(app)]
        assert rows(app)[0].strip(" ▶") == "before"
        assert set(back) == set(seen)


async def test_following_shows_the_end_of_a_tall_wrapped_line() -> None:
    app = LogApp(b" ".join(b"w%03d" % n for n in range(200)) + b"\n")
    async with app.run_test(size=(43, 6)) as pilot:
        await settle(pilot, app)
        await pilot.press("w")
        await settle(pilot, app)
        assert app.view.follow
        assert rows(app)[-1].strip() == "w192 w193 w194 w195 w196 w197 w198 w199"
        await pilot.press("pageup", "pageup")
        assert not app.view.follow
        assert rows(app)[-1].strip().endswith("w119")


async def test_nothing_harmful_and_no_secret_is_shown() -> None:
    app = LogApp(
        b"\x1b]0;title\x07\x1b[2Jred\x1b[31m \xff \x9b\n--api-key sk-abcdefghijklmnop1234\n"
    )
    async with app.run_test(size=(60, 10)) as pilot:
        await settle(pilot, app)
        text = screen_text(app)
    assert "\x1b" not in text
    assert "sk-abcdefghijklmnop1234" not in text
    assert "--api-key •••" in text


async def test_sideways_moves_only_by_the_person() -> None:
    app = LogApp((b"x" * 60 + b"END%d\n") % 0 + b"x" * 200 + b"\n" + numbered(0, 30))
    async with app.run_test(size=(40, 10)) as pilot:
        await settle(pilot, app)
        await pilot.press("g")
        await settle(pilot, app)
        await pilot.press(*["right"] * 30)
        assert "END0" in rows(app)[0]
        app.store.append(numbered(30, 60))
        await settle(pilot, app)
        assert "END0" in rows(app)[0]
        assert round(app.view.scroll_x) == 30


async def test_wide_characters_keep_the_rows_in_shape() -> None:
    app = LogApp("模型加载完成 模型加载完成 模型加载完成\n".encode() * 30)
    async with app.run_test(size=(31, 8)) as pilot:
        await settle(pilot, app)
        for strip in (app.view.render_line(y) for y in range(8)):
            assert strip.cell_length == 30
        await pilot.press("right", "w")
        await settle(pilot, app)
        assert all(app.view.render_line(y).cell_length == 30 for y in range(8))


@pytest.mark.parametrize("size", [(1, 1), (2, 1), (5, 2), (300, 3)])
async def test_any_size(size: tuple[int, int], recordings: Path) -> None:
    app = LogApp((recordings / "cpu-crash-oom.log").read_bytes())
    async with app.run_test(size=size) as pilot:
        await settle(pilot, app)
        for key in ("w", "g", "e", "G", "w", "pageup"):
            await pilot.press(key)
        await settle(pilot, app)


async def test_a_file_of_one_bar_opens_at_once() -> None:
    bar = b"\rMulti-thread loading shards: %3d%% Completed | %d/40000 [00:00<00:02, 25.24it/s]"
    app = LogApp()
    async with app.run_test(size=(90, 10)) as pilot:
        began = time.process_time()
        app.store.append(b"".join(bar % (n // 400, n) for n in range(40_001)))
        await settle(pilot, app)
        assert time.process_time() - began < 3  # toolong needs 12 s and more
        assert "40000/40000" in rows(app)[0]
        assert rows(app)[1] == ""


async def test_a_gap_says_what_is_missing() -> None:
    app = LogApp(b"a\n")
    async with app.run_test(size=(60, 10)) as pilot:
        app.store.gap("12 MB left out here")
        app.store.append(b"b\n")
        await settle(pilot, app)
        assert "╌╌ 12 MB left out here ╌╌" in rows(app)[1]


async def test_the_growing_line_shows_as_it_grows() -> None:
    app = LogApp(b"\rx: 10%|")
    async with app.run_test(size=(40, 5)) as pilot:
        await settle(pilot, app)
        for percent in (20, 30):
            app.store.append(b"\rx: %d%%|" % percent)
            await settle(pilot, app)
            assert [row.strip() for row in rows(app)[:2]] == [f"x: {percent}%|", ""]


async def test_a_theme_change_recolours() -> None:
    app = LogApp(b"RuntimeError: x\n")
    async with app.run_test(size=(40, 5)) as pilot:
        await settle(pilot, app)

        def colours() -> list[object]:
            return [segment.style and segment.style.color for segment in app.view.render_line(0)]

        dark = colours()
        app.theme = "textual-light"
        await pilot.pause()
        assert colours() != dark


async def test_a_view_in_the_place_of_another_keeps_filters_and_search() -> None:
    app = LogApp(numbered(0, 30))
    async with app.run_test(size=(40, 10)) as pilot:
        await settle(pilot, app)
        app.view.exclude = "line 1"
        app.view.wrap = True
        app.view.search("line")
        await settle(pilot, app)
        store = LogStore()
        store.append(b"line 1\nline 7\nx\nline 8\n")
        other = LogView(store)
        other.look_like(app.view)
        await app.view.remove()
        await app.mount(other)
        app.view = other
        await settle(pilot, app)
        assert [row.strip() for row in rows(app)[:3]] == ["line 7", "x", "line 8"]
        assert (other.wrap, other.follow) == (True, True)
        other.next_match()
        await until(pilot, lambda: other.current is not None)
        assert other.current_line == "line 7"


async def test_a_timer_that_textual_skips_does_not_stop_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A one-shot timer that is late when it begins never calls: a busy machine makes it so."""
    app = LogApp(b"first\n")
    async with app.run_test(size=(60, 20)) as pilot:
        await settle(pilot, app)
        monkeypatch.setattr(app.view, "set_timer", lambda *_: None)
        app.store.append(b"second\n")
        app.view.extended()
        monkeypatch.undo()
        await pilot.pause()
        app.view.keep_up()
        app.store.append(b"third\n")
        app.view.extended()
        await pilot.pause(0.1)
        assert "third" not in screen_text(app), "it is not yet overdue"
        monkeypatch.setattr(log_view, "LOST", 0.0)
        app.view.keep_up()
        await until(pilot, lambda: "third" in screen_text(app))
