"""What the switcher and the strip say, without a screen."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from eagletui.model.history import History
from eagletui.model.profile import Guard
from eagletui.model.restart import Standing
from eagletui.model.state import State, fold_all
from eagletui.model.switching import Change, Choice, Preview, Row, Unfinished
from eagletui.tui.config import HostSettings, Settings
from eagletui.tui.switching import (
    difference_lines,
    effect,
    in_flight,
    known,
    leave_question,
    put_back_question,
    questions,
    refusal,
    row_text,
    strip,
    summary,
)
from eagletui.tui.view import View
from tests.tui.scenes import NOW, SCENES
from tests.tui.switcher import DIED, ERROR, WARNING, moment

PREVIEW = Preview(
    choice=Choice(), name="k+chain-5", port=30000, replaces=4242, asked=True, command=("sglang",)
)


def view(scene: str = "serving", **changes: Any) -> View:
    state = fold_all(State(), SCENES[scene]())
    made = View(
        state=state, history=History(), logs={}, now=NOW, settings=Settings(), target="gpu1"
    )
    return made._replace(**changes)


def change(name: str, before: str | None, after: str | None, where: str = "flag") -> Change:
    return Change(where=where, name=name, before=before, after=after)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (change("--tp", "4", "8"), "~ --tp  4 → 8"),
        (change("--trust-remote-code", None, ""), "+ --trust-remote-code"),
        (change("--trust-remote-code", "", None), "− --trust-remote-code"),
        (change("--tp", None, "8"), "+ --tp 8"),
        (change("NCCL_ALGO", None, "Ring", "environment"), "+ NCCL_ALGO=Ring"),
        (change("NCCL_ALGO", "Tree", None, "environment"), "− NCCL_ALGO=Tree"),
        (change("--api-key", "•••", "•••"), "~ --api-key •••  (another value, not shown)"),
    ],
)
def test_a_difference(one: Change, said: str) -> None:
    [line] = difference_lines((one,), 70)
    assert " ".join(line.plain.split()) == " ".join(said.split())


def test_no_difference_is_a_plain_restart() -> None:
    [line] = difference_lines((), 70)
    assert "the same command" in line.plain
    assert summary(PREVIEW) == "no change"


@pytest.mark.parametrize("width", [20, 40, 58, 78, 200])
def test_no_line_is_wider_than_its_room(width: int) -> None:
    long = replace(
        PREVIEW,
        changes=(change("--model-path", "/m/" + "a" * 90, "/m/" + "b" * 300),),
        findings=(ERROR, WARNING),
        command=("python3", "-m", "sglang.launch_server", "--model-path", "/m/" + "b" * 300),
        environment={"LONG": "x" * 300},
        asked=False,
    )
    for lines in (
        effect(long, view(), width),
        effect(replace(long, problem="No. " * 40, advice="Do. " * 40), view(), width),
        strip(view(restart=moment(Standing(state="draining", replaces=True), "d" * 300)), width),
        strip(view(restart=moment(Standing(state="failed", problem=DIED))), width),
    ):
        assert lines
        assert max(line.cell_length for line in lines) <= width


def test_errors_come_first_and_the_command_last() -> None:
    found = replace(PREVIEW, findings=(WARNING, ERROR), changes=(change("--tp", "4", "8"),))
    text = [line.plain for line in effect(found, view(), 100)]
    order = [next(i for i, t in enumerate(text) if t.startswith(mark)) for mark in "✖~▲■◷$"]
    assert order == sorted(order)


def test_what_happens_to_requests() -> None:
    assert in_flight(PREVIEW, view()) == (
        "stops pid 4242 on :30000; requests in flight (4 running, 1 queued now) may finish for "
        "30 s, then they are aborted"
    )
    longer = replace(PREVIEW, guard=Guard(drain_seconds=120))
    assert "may finish for 120 s" in in_flight(longer, view())
    assert in_flight(replace(PREVIEW, replaces=7), view()).startswith(
        "stops pid 7 on :30000; requests in flight may finish"
    )
    assert "nothing is stopped" in in_flight(replace(PREVIEW, replaces=None), view())


def test_what_is_known_of_the_load() -> None:
    assert "not known" in known(PREVIEW)
    assert known(replace(PREVIEW, load=423.0, launches=1)) == (
        "loads in about 7 min 03 s (1 launch of this model here)"
    )


def test_one_question_or_two_and_a_name_where_it_is_protected() -> None:
    [plain] = questions(PREVIEW, view())
    assert (plain.yes, plain.name) == ("Restart", "")
    many = tuple(change(f"--flag-{n}", None, "1") for n in range(5))
    [counted] = questions(replace(PREVIEW, changes=many), view())
    assert counted.lines[0] == "5 changes: flag-0, flag-1, flag-2 and 2 more"
    [started] = questions(replace(PREVIEW, replaces=None), view())
    assert started.yes == "Start"
    _, second = questions(replace(PREVIEW, findings=(ERROR,)), view())
    assert second.yes == "Start anyway"
    assert ERROR.message in second.lines[0]
    settings = Settings(hosts={"gpu1": HostSettings(protected=True)})
    assert questions(PREVIEW, view(settings=settings))[0].name == "gpu1"
    guarded = replace(PREVIEW, guard=Guard(protected=True))
    assert questions(guarded, view())[0].name == "gpu1"


def test_what_is_refused() -> None:
    assert refusal(PREVIEW, view()) == ""
    assert "Read-only" in refusal(PREVIEW, view(read_only=True))
    assert refusal(None, view()) != ""
    assert refusal(replace(PREVIEW, problem="No model."), view()) == "No model."
    active = moment(Standing(state="loading"))
    assert "kimi-k2.5+chain-5 is being started (loading)" in refusal(PREVIEW, view(restart=active))
    over = moment(Standing(state="failed"))
    assert refusal(PREVIEW, view(restart=over)) == ""


def test_the_strip_is_silent_a_while_after_a_restart_that_went_well() -> None:
    done = moment(Standing(state="ready"))
    assert strip(view(restart=done), 80)
    assert strip(view(restart=done, now=NOW + 21), 80) == []
    failed = moment(Standing(state="failed", problem=DIED))
    assert strip(view(restart=failed, now=NOW + 9999), 80)
    assert strip(view(), 80) == []


def test_how_a_restart_ended_is_told_whole() -> None:
    told = " ".join(f"Sentence {n} of an account, which has to be read." for n in range(7))
    lost = replace(moment(Standing(state="loading")), detached=told)
    lines = [part.plain.strip() for part in strip(view(restart=lost), 80)]
    assert " ".join(lines[1:-1]) == told
    short = [part.plain for part in strip(view(restart=lost), 60)]
    assert len(short) == 7
    assert all(cell_len(part) <= 60 for part in short)
    assert short[-2].rstrip().endswith("…")


def test_enter_that_waits_for_the_host_is_seen() -> None:
    asking = replace(PREVIEW, asked=False)
    assert "… asking the host" in [part.plain for part in effect(asking, view(), 80)]
    [waiting] = [p.plain for p in effect(asking, view(), 80, waits=True) if "asking" in p.plain]
    assert "Enter waits" in waiting


def test_a_cancel_is_not_called_a_failure() -> None:
    asks = Standing(state="asking", cancelled=True, old_gone=True)
    assert "cancelled" in strip(view(restart=moment(asks)), 80)[0].plain
    assert put_back_question(moment(asks)).title == "kimi-k2.5+chain-5 was cancelled"
    failed = moment(Standing(state="asking", problem=DIED, old_gone=True))
    assert put_back_question(failed).title == "kimi-k2.5+chain-5 does not serve"


def test_several_launches_that_were_left_are_counted() -> None:
    one = Unfinished(launch="l", name="", began=0.0, standing=Standing(state="killing"))
    first = strip(view(unfinished=(one, one)), 80)[0].plain
    assert first.startswith("◌ launch l was left at: killing")
    assert first.endswith("(and 1 more)")


def test_leaving_says_whether_anything_goes_on() -> None:
    early = leave_question(moment(Standing(state="stopping", old_gone=True)))
    assert "Nothing is started until somebody goes on" in early.lines[0]
    late = leave_question(moment(Standing(state="loading", started=True)))
    assert "goes on by itself" in late.lines[0]


def test_a_row_says_without_colour_what_runs_and_what_is_chosen() -> None:
    row = Row(name="chain-3", title="chain: 3 steps", runs=True)
    assert row_text(row, 30, chosen=True).plain == "›● chain-3  chain: 3 steps"
    assert row_text(row, 12, chosen=False).plain == " ● chain-3"
    assert row_text(Row(), 30, chosen=False).plain == "   as it runs now"
