"""What the switcher, its questions and the restart's strip say. Pure; no widget in here."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import NamedTuple

from textual.content import Content

from eagletui.model.finding import Finding, FindingSeverity
from eagletui.model.latest import running
from eagletui.model.restart import account
from eagletui.model.switching import Change, Kept, Lock, Moment, Preview, Row, Unfinished
from eagletui.tui import words
from eagletui.tui.actions import first_key
from eagletui.tui.draw import Piece, fit, line, wrap
from eagletui.tui.view import View

AS_IT_RUNS = "as it runs now"
AS_PROFILE = "as the profile says"
MARKS: dict[FindingSeverity, tuple[str, str]] = {
    "error": ("✖", "bold $error"),
    "warning": ("▲", "bold $warning"),
    "info": ("·", "$quiet"),
}
_MOST_ON_THE_WAY = 2
_MOST_AT_END = 5
_NAMED = 3


class Question(NamedTuple):
    """What is asked before a change; Cancel is the default.

    Attributes:
        yes: the button's words.
        name: what has to be typed, "" for nothing.
    """

    title: str
    lines: tuple[str, ...]
    yes: str
    name: str = ""


# --- rows -----------------------------------------------------------------------------------------


def row_text(row: Row, width: int, *, chosen: bool, first: str = AS_IT_RUNS) -> Content:
    """One row of a list: a mark where it is chosen, another where it runs."""
    mark = "›" if chosen else " "
    runs = "●" if row.runs else " "
    name = row.name or first
    room = width - 4
    pieces: list[Piece] = [
        (mark, "bold"),
        (f"{runs} ", "" if chosen else "$success"),
        (fit(name, min(room, len(name))), "bold" if chosen else ""),
    ]
    if row.title and row.name and room - len(name) > 8:
        pieces.append(
            (fit(f"  {row.title}", room - len(name)).rstrip(), "" if chosen else "$quiet")
        )
    return line(*pieces)


# --- what a choice would do -----------------------------------------------------------------------


def summary(preview: Preview) -> str:
    """The effect in a few words, for a border."""
    if preview.problem:
        return "cannot be started"
    counted = (
        (len(preview.changes), "change"),
        (len(preview.errors), "error"),
        (sum(f.severity == "warning" for f in preview.findings), "warning"),
    )
    said = [words.count(number, word) for number, word in counted if number]
    if not preview.changes:
        said.insert(0, "no change")
    return ", ".join(said)


def _counted(preview: Preview) -> str:
    """The summary, and what changes by name, for a question."""
    names = [change.name.lstrip("-") for change in preview.changes]
    more = len(names) - _NAMED
    said = ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{summary(preview)}: {said}" if names else summary(preview)


def effect(preview: Preview, view: View, width: int, *, waits: bool = False) -> list[Content]:
    """Everything a person should know before Enter, the worst first.

    Args:
        waits: whether Enter was pressed and is done once the host has answered.
    """
    if preview.problem:
        lines = [line((part, "bold $error")) for part in wrap(f"✖ {preview.problem}", width)]
        lines += [line(part) for part in _indented(preview.advice, "  → ", width)]
        return lines
    errors = [finding for finding in preview.findings if finding.severity == "error"]
    others = [finding for finding in preview.findings if finding.severity != "error"]
    lines = [part for finding in errors for part in finding_lines(finding, width)]
    lines += [line((part, "bold")) for part in _indented(before_text(preview, view), "← ", width)]
    lines += difference_lines(preview.changes, width)
    if not preview.asked:
        then = ", then you: Enter waits for it" if waits else ""
        lines.append(line((f"… asking the host{then}", "" if waits else "$quiet")))
    lines += [part for finding in others for part in finding_lines(finding, width)]
    lines += [line(part) for part in _indented(in_flight(preview, view), "■ ", width)]
    lines += [line((part, "$quiet")) for part in _indented(known(preview), "◷ ", width)]
    lines += [line(part) for part in _indented(measured(preview, view.now), "≈ ", width)]
    lines += command_lines(preview, width)
    return lines


def difference_lines(changes: tuple[Change, ...], width: int) -> list[Content]:
    """Each difference: `+` comes, `−` goes, `~` changes."""
    if not changes:
        return [line(("= the same command, environment and folder again", "bold"))]
    return [part for change in changes for part in _change(change, width)]


def _change(change: Change, width: int) -> Iterator[Content]:
    glyph, style = "~", "bold $warning"
    equals = "=" if change.where == "environment" else " "
    if change.before is None:
        glyph, style = "+", "bold $success"
        text = f"{change.name}{equals if change.after else ''}{change.after or ''}"
    elif change.after is None:
        glyph, style = "−", "bold $error"
        text = f"{change.name}{equals if change.before else ''}{change.before}"
    elif change.before == change.after:
        text = f"{change.name}{equals}{change.after} (another value, not shown)"
    else:
        text = f"{change.name}  {change.before or '(given)'} → {change.after or '(given)'}"
    first, *rest = wrap(text, width - 4)
    yield line((f"{glyph} ", style), first)
    for part in rest:
        yield line("    ", part)


def finding_lines(finding: Finding, width: int) -> list[Content]:
    """Message and advice of one finding."""
    glyph, style = MARKS[finding.severity]
    first, *rest = wrap(finding.message, width - 2)
    heavy = "bold" if finding.severity == "error" else ""
    lines = [line((f"{glyph} ", style), (first, heavy))]
    lines += [line("  ", (part, heavy)) for part in rest]
    if finding.severity != "info":
        lines += [line(part) for part in _indented(finding.advice, "  → ", width)]
    return lines


def in_flight(preview: Preview, view: View) -> str:
    """What happens to the server that runs there, and to its requests."""
    if preview.replaces is None:
        return f"nothing runs on :{preview.port}, so nothing is stopped"
    return (
        f"stops pid {preview.replaces} on :{preview.port}; {_requests(preview, view)} may finish "
        f"for {preview.guard.drain_seconds:g} s, then they are aborted"
    )


def _requests(preview: Preview, view: View) -> str:
    server = view.server
    if server is None or server.process.pid != preview.replaces:
        return "requests in flight"
    now, reading = running(server, view.now), server.metrics.reading
    if now is None:
        return "requests in flight"
    queued = reading.queued if reading is not None else None
    if not now and not queued:
        return "requests in flight (none now)"
    return f"requests in flight ({now:.0f} running, {queued or 0:.0f} queued now)"


def known(preview: Preview) -> str:
    """What was learned of this model's load."""
    if preview.load is None:
        return "how long it loads is not known: no launch of this model was seen here"
    launches = words.count(preview.launches, "launch", "launches")
    return f"loads in about {words.seconds(preview.load)} ({launches} of this model here)"


def measured(preview: Preview, now: float) -> str:
    """What was measured last of this combination; "" where nothing was."""
    last = preview.measured
    if last is None:
        return ""
    accept = f", accept length {last.accept_length:.2f}" if last.accept_length is not None else ""
    partial = ", a partial run" if last.partial else ""
    return (
        f"last measured {words.ago(now - last.began)}: {words.rate(last.tok_s)} tok/s at "
        f"{last.concurrency}{accept} ({last.name}{partial})"
    )


def command_lines(preview: Preview, width: int) -> list[Content]:
    """The whole start as it will be, secrets masked."""
    lines = [Content("")]
    for name, value in preview.environment.items():
        lines += [line((part, "$quiet")) for part in _indented(f"{name}={value}", "  ", width)]
    text = shlex.join(preview.command)
    return [*lines, *(line((part, "$quiet")) for part in _indented(text, "$ ", width))]


def _indented(text: str, mark: str, width: int) -> list[str]:
    if not text:
        return []
    first, *rest = wrap(text, width - len(mark))
    return [mark + first, *(" " * len(mark) + part for part in rest)]


# --- questions ------------------------------------------------------------------------------------


def refusal(preview: Preview | None, view: View) -> str:
    """Why nothing is begun, "" when it may be."""
    refused = view.permission().refusal
    if refused:
        return refused
    if view.restart is not None and not view.restart.over:
        moment = view.restart
        return f"{moment.name} is being started ({moment.standing.title}): one at a time."
    if view.bench is not None and not view.bench.over:
        return f"What runs is being measured ({view.bench.short}): cancel that first."
    if preview is None:
        return "Nothing is chosen yet."
    if preview.problem:
        return preview.problem
    return view.permission(preview.guard).refusal


def questions(preview: Preview, view: View) -> tuple[Question, ...]:
    """What is asked, in order; each has to be agreed to."""
    asked = [
        Question(
            title=f"start {preview.name} on {view.target}?",
            lines=tuple(
                text
                for text in (
                    before_text(preview, view),
                    _counted(preview),
                    in_flight(preview, view),
                    known(preview),
                    measured(preview, view.now),
                )
                if text
            ),
            yes="Restart" if preview.replaces is not None else "Start",
            name=view.permission(preview.guard).name,
        )
    ]
    if preview.errors:
        said = tuple(f"✖ {finding.message}" for finding in preview.errors[:3])
        more = len(preview.errors) - len(said)
        rest = (f"and {words.count(more, 'error')} more",) if more else ()
        asked.append(
            Question(
                title="this will fail",
                lines=(*said, *rest, "What runs now is stopped before that shows."),
                yes="Start anyway",
            )
        )
    return tuple(asked)


def cancel_question(moment: Moment) -> Question:
    """Before a restart is cancelled."""
    return Question(
        title=f"cancel the restart of {moment.name}?",
        lines=(f"Now: {moment.standing.title}.", f"It {moment.standing.on_cancel}."),
        yes="Cancel the restart",
    )


def put_back_question(moment: Moment) -> Question:
    """Whether what ran before is put back."""
    problem = moment.standing.problem
    why = (problem.title, problem.evidence, problem.advice) if problem is not None else ()
    return Question(
        title=f"{moment.name} {'was cancelled' if moment.standing.cancelled else 'does not serve'}",
        lines=(*(text for text in why if text), "Put back what ran before?"),
        yes="Put it back",
    )


def leave_question(moment: Moment) -> Question:
    """Before eagletui is left while a restart goes on."""
    loads = moment.standing.started
    lines = (
        "What was started goes on by itself on the host."
        if loads
        else f"It stops at: {moment.standing.title}. Nothing is started until somebody goes on.",
        f"eagletui offers to go on at its next start; or: eagletui launch --resume {moment.launch}",
    )
    return Question(title=f"leave during the restart of {moment.name}?", lines=lines, yes="Leave")


def lock_question(lock: Lock, view: View) -> Question:
    """Before another's lock is taken away; while they live, the host has to be named."""
    if lock.damaged:
        return Question(
            title=f"the lock of {view.target} is damaged",
            lines=(
                "What lies there is nothing that eagletui writes, so it does not say who restarts.",
                f"It was changed {words.ago(lock.quiet)}. Look at it on the host first.",
            ),
            yes="Take the lock",
            name=view.target,
        )
    since = "" if lock.since is None else f", begun {words.ago(view.now - lock.since)}"
    lines = [
        f"{lock.who} is in the middle of it: {lock.what}{since}.",
        f"Last sign of life {words.ago(lock.quiet)}.",
    ]
    if lock.stale:
        lines.append("Their eagletui seems to be gone. What it started stays as it is.")
    else:
        lines.append("Theirs stops where it is, perhaps with no server running. Ask them first.")
    return Question(
        title=f"another restart on {view.target}",
        lines=tuple(lines),
        yes="Take the lock",
        name="" if lock.stale else view.target,
    )


def resume_question(left: Unfinished, view: View) -> Question:
    """Before a launch that was left is gone on with."""
    lines = [f"It was left at: {left.standing.title}."]
    if left.unattended:
        lines = [f"It was started to be left (--no-wait), at: {left.standing.title}."]
    if left.busy:
        lines.append(f"{left.busy} is at it.")
    lines.append("It goes on from there; where it fails, what ran before can be put back.")
    return Question(
        title=f"go on with {left.name or left.launch}?",
        lines=tuple(lines),
        yes="Go on",
        name=view.permission().name,
    )


def before_text(preview: Preview, view: View) -> str:
    """What is gone back to; "" where the choice is another."""
    before = preview.before
    if before is None:
        return ""
    when = words.ago(max(0.0, view.now - before.at))
    if before.ours:
        return f"goes back to {before.name}: ready {when}, the last before what runs now"
    return f"goes back to {before.name}: replaced {when}, not started by eagletui"


def overwrite_question(name: str, path: str) -> Question:
    """Before a profile of the person's is written over."""
    return Question(
        title=f"{name} is there already",
        lines=(f"{path} would be written over; what stands in it is lost.",),
        yes="Write over it",
    )


def kept_text(kept: Kept) -> str:
    """Where a profile was written, and what to know of it."""
    return "\n".join((kept.path, *kept.notes))


# --- the strip ------------------------------------------------------------------------------------


def strip(view: View, width: int) -> list[Content]:
    """The restart that goes on, how one ended, or what was left; [] for nothing to say."""
    moment = view.restart
    if moment is not None and view.restart_shown:
        return moment_lines(moment, view, width)
    left = view.unfinished
    return unfinished_lines(left[0], len(left), view, width) if left else []


def moment_lines(moment: Moment, view: View, width: int) -> list[Content]:
    """Where it stands; what is happening; what can be done about it."""
    standing = moment.standing
    keys = view.settings.keys
    end = moment.at if moment.over else view.now
    clock = words.clock(end - moment.began)
    if moment.detached:
        glyph, style, title = "✖", "bold $error", "no longer watched"
    elif standing.state == "asking":
        title = "cancelled" if standing.cancelled else "it does not serve"
        glyph, style = "?", "bold $warning"
    elif standing.final:
        good = standing.state in ("ready", "stopped")
        glyph, style = ("✔", "bold $success") if good else ("✖", "bold $error")
        title = standing.title
    else:
        glyph, style, title = "▶", "bold $primary", standing.title
    head = f"{moment.name}: {title}"
    room = width - len(clock) - 4
    lines = [line((f"{glyph} ", style), (fit(head, room), "bold"), " ", (clock, "$quiet"))]
    if moment.detached:
        detail = moment.detached
    elif standing.final:
        detail = "" if standing.state == "ready" else account(standing)
    elif standing.state == "asking" and standing.problem is not None:
        detail = standing.problem.title
    else:
        detail = moment.detail
    ended = bool(moment.over or moment.detached)
    lines += [line("  ", part) for part in _account_lines(detail, width - 2, ended=ended)]
    if standing.state == "asking" and not moment.over:
        key = first_key("restart.answer", keys)
        lines.append(line("  ", (key, "bold $accent"), " whether what ran before is put back"))
    elif not moment.over and standing.on_cancel:
        key = first_key("restart.cancel", keys)
        said = fit(f" cancels: {standing.on_cancel}", width - 2 - len(key)).rstrip()
        lines.append(line("  ", (key, "bold $accent"), (said, "$quiet")))
    elif moment.over and standing.state != "ready":
        key = first_key("restart.cancel", keys)
        lines.append(line("  ", (key, "bold $accent"), (" closes this", "$quiet")))
    return lines


def _account_lines(detail: str, width: int, *, ended: bool) -> list[str]:
    """What happens takes little room; how it ended is told whole, as far as that is possible."""
    most = _MOST_AT_END if ended else _MOST_ON_THE_WAY
    parts = wrap(detail, width) if detail else []
    if len(parts) > most:
        parts = [*parts[: most - 1], fit(" ".join(parts[most - 1 :]), width)]
    return parts


def unfinished_lines(left: Unfinished, count: int, view: View, width: int) -> list[Content]:
    """A launch that did not come to its end."""
    key = first_key("restart.resume", view.settings.keys)
    name = left.name or left.launch
    more = f" (and {count - 1} more)" if count > 1 else ""
    head = fit(f"launch {name} was left at: {left.standing.title}{more}", width - 2).rstrip()
    lines = [line(("◌ ", "bold $warning"), (head, "bold"))]
    if left.busy:
        said = fit(f" takes it over from {left.busy}, who is at it", width - 2 - len(key)).rstrip()
        lines.append(line("  ", (key, "bold $accent"), (said, "$quiet")))
    else:
        lines.append(line("  ", (key, "bold $accent"), (" goes on with it", "$quiet")))
    return lines
