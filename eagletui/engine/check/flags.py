"""Rules on the flags themselves: what the server's parser would say, before it is asked."""

from __future__ import annotations

import functools

from eagletui.engine.check.situation import Finds, Found, Situation, now, place
from eagletui.engine.flags.argv import Complaint, Given
from eagletui.engine.flags.table import FLAGS, Flag
from eagletui.engine.releases import Range, version
from eagletui.model.near import nearest
from eagletui.model.secrets import MASK, is_secret_name, mask, mask_argv

_ROWS = {name: row for row in FLAGS for name in row.names.split()}


@functools.lru_cache(maxsize=4096)
def _row(word: str, release: str) -> Flag | None:
    """The row of a flag that this release does not have."""
    row = _ROWS.get(word)
    return None if row is None or release in Range(row.since, row.until) else row


def _lacking(situation: Situation, complaint: Complaint) -> Flag | None:
    if complaint.trouble not in ("unknown", "ambiguous"):
        return None
    return _row(complaint.word, situation.release.text)


def renamed(situation: Situation) -> Finds:
    """A flag that this release calls otherwise, or no longer has."""
    for complaint in situation.arguments.complaints:
        row = _lacking(situation, complaint)
        if row is not None and row.until and not _too_new(row, situation):
            yield _renamed(row, complaint.word)
    yield from _in_words(situation, gone=True)


def too_new(situation: Situation) -> Finds:
    """A flag that came with a later release."""
    for complaint in situation.arguments.complaints:
        row = _lacking(situation, complaint)
        if row is not None and _too_new(row, situation):
            yield _came(row, complaint.word)
    yield from _in_words(situation, gone=False)


def _in_words(situation: Situation, *, gone: bool) -> Finds:
    # A release whose list is not complete lets every flag pass; the table still knows better.
    if situation.known.complete:
        return
    for given in situation.arguments.given:
        row = _row(given.word, situation.release.text)
        if row is not None and _too_new(row, situation) is not gone:
            yield _renamed(row, given.word) if gone else _came(row, given.word)


def _too_new(row: Flag, situation: Situation) -> bool:
    return bool(row.since) and situation.release < version(row.since)


def _renamed(row: Flag, word: str) -> Found:
    if row.now:
        why = f" ({row.note})" if row.note else ""
        return Found(
            place(word),
            f"{word} is gone since {row.gone}{why}: the server ends at once with a usage text.",
            f"Use {row.now}.",
        )
    return Found(
        place(word),
        f"{word} is gone since {row.gone}: the server ends at once with a usage text.",
        f"Leave it out: {row.note.partition(';')[0]}.",
    )


def _came(row: Flag, word: str) -> Found:
    older = next((other for other in FLAGS if other.now == row.name), None)
    instead = f"Use {older.name}, or leave it out." if older else "Leave it out."
    return Found(
        place(word),
        f"{word} came with {row.since}: the server ends at once with a usage text.",
        instead,
    )


def unknown(situation: Situation) -> Finds:
    """A flag that this SGLang does not have."""
    for complaint in situation.arguments.complaints:
        if complaint.trouble == "unknown" and _lacking(situation, complaint) is None:
            near = nearest(complaint.word, situation.known)
            yield Found(
                place(complaint.word),
                f"This SGLang has no flag {complaint.word}: the server ends at once with a usage "
                "text.",
                f"Did you mean {near}?"
                if near
                else "Leave it out, or look at the server's --help.",
            )


def not_known(situation: Situation) -> Finds:
    """A flag that nobody wrote down for this release; it may well exist."""
    for given in situation.arguments.given:
        word = given.word
        if situation.known.exact(given.flag) is None and word not in _ROWS:
            near = nearest(word, situation.known)
            yield Found(
                place(word),
                f"Whether {situation.release.text} has {word} is not known here.",
                f"Did you mean {near}?" if near else "Check it with --host: its --help tells.",
            )


def ambiguous(situation: Situation) -> Finds:
    """A short form that could be several flags."""
    for complaint in situation.arguments.complaints:
        if complaint.trouble == "ambiguous" and _lacking(situation, complaint) is None:
            yield Found(
                place(complaint.word),
                f"{complaint.word} could be {_some(complaint.near)}: the server refuses it.",
                "Write the whole flag.",
            )


def deprecated(situation: Situation) -> Finds:
    """A flag that still works, with a warning in the log."""
    for given in situation.arguments.given:
        row = _ROWS.get(given.word)
        if row is None or not row.deprecated or not situation.since(row.deprecated):
            continue
        if situation.known.exact(given.word) is None:
            continue  # it is gone already
        advice = f"Use {row.now}." if row.now and not row.note else f"{row.note}."
        yield Found(
            place(given.word),
            f"{given.word} is deprecated since {row.deprecated}; it still works.",
            advice[0].upper() + advice[1:] if not advice.startswith("-") else advice,
        )


def no_value(situation: Situation) -> Finds:
    """A flag without the value it takes."""
    for complaint in situation.arguments.complaints:
        if complaint.trouble == "no value":
            yield Found(
                place(complaint.word),
                f"{complaint.word} takes a value and has none: the server refuses it.",
                "Give it one; a value that begins with a dash is joined with =.",
            )


def value_for_switch(situation: Situation) -> Finds:
    """A value for a flag that takes none."""
    for complaint in situation.arguments.complaints:
        if complaint.trouble == "value for a switch":
            yield Found(
                place(complaint.word),
                f"{complaint.word} takes no value, but has {_shown(complaint)}: the server refuses "
                "it.",
                "Write the flag alone; to switch it off, leave it out.",
            )


def stray(situation: Situation) -> Finds:
    """A word that belongs to no flag."""
    complaints = situation.arguments.complaints
    if any(complaint.trouble in ("unknown", "ambiguous") for complaint in complaints):
        return  # what follows such a flag is its value
    for complaint in complaints:
        if complaint.trouble == "stray":
            yield Found(
                "server.flags",
                f"{mask(complaint.word)!r} belongs to no flag: the server refuses it.",
                "Remove it, or name its flag.",
            )


def bad_number(situation: Situation) -> Finds:
    """A value that is no number, or no JSON."""
    for complaint in situation.arguments.complaints:
        if complaint.trouble == "no number":
            yield Found(
                place(complaint.word),
                f"{complaint.word} does not take {_shown(complaint)}: the server refuses it.",
                "Give it a number, or valid JSON where it takes that.",
            )


def bad_choice(situation: Situation) -> Finds:
    """A value that is none of the flag's choices."""
    for complaint in situation.arguments.complaints:
        if complaint.trouble == "no choice":
            near = nearest(complaint.value, complaint.near, cutoff=0.6)
            upper = next((c for c in complaint.near if c.lower() == complaint.value.lower()), near)
            yield Found(
                place(complaint.word),
                f"{complaint.word} takes {_some(complaint.near)}, not {_shown(complaint)}: the "
                "server refuses it.",
                f"Did you mean {upper}?" if upper else "Choose one of them.",
            )


def twice(situation: Situation) -> Finds:
    """A flag that is given twice: with different values, or under two of its spellings."""
    seen: dict[str, Given] = {}
    for given in situation.arguments.given:
        flag = now(given.flag)
        before = seen.get(flag)
        seen[flag] = given
        if before is None:
            continue
        if before.word != given.word:
            yield Found(
                place(given.word),
                f"{before.word} and {given.word} are one flag: the last value counts, "
                f"{_value(given)}.",
                f"Keep one of them, best as {flag}.",
            )
        elif before.values != given.values:
            yield Found(
                place(given.word),
                f"{given.word} is given twice: the last value counts, {_words(given)}.",
                "Keep one of them.",
            )


def no_model(situation: Situation) -> Finds:
    """No model at all."""
    if situation.ours and not situation.given("--model-path") and not situation.given("--config"):
        yield Found(
            "server.model",
            "No model is named: the server refuses to start without --model-path.",
            "Set server.model.",
        )


def config_joined(situation: Situation) -> Finds:
    """`--config=FILE`, which SGLang takes and never reads (0.5.3 to 0.5.23)."""
    if any(word.startswith("--config=") for word in situation.plan.argv):
        yield Found(
            "server.flags.config",
            "--config=FILE in one word is taken and never read: SGLang looks for --config alone.",
            "Write --config and the file as two words.",
        )


def config_unread(situation: Situation) -> Finds:
    """Flags in a file that this check does not read."""
    file = situation.text("--config")
    if file is None:
        return
    if not file.endswith((".yaml", ".yml")):
        yield Found(
            "server.flags.config",
            f"{file} ends neither in .yaml nor .yml: the server refuses it.",
            "Rename the file.",
        )
        return
    yield Found(
        "server.flags.config",
        f"The flags in {file} are not looked at here.",
        "Put them into the profile to have them checked.",
    )


def own_script(situation: Situation) -> Finds:
    """A command that is not SGLang's own: what it does with the flags is its own affair."""
    if situation.plan.argv and not situation.ours:
        yield Found(
            "server.command",
            f"{' '.join(mask_argv(situation.command)) or 'The command'} is not SGLang's own "
            "launcher: only the flags that stand on its command line are looked at.",
            "",
        )


def _shown(complaint: Complaint) -> str:
    secret = is_secret_name(complaint.word)
    return repr(MASK if secret else mask(complaint.value))


def _value(given: Given) -> str:
    return _words(given) if given.values else given.word


def _words(given: Given) -> str:
    return MASK if is_secret_name(given.flag) else mask(" ".join(given.values))


def _some(names: tuple[str, ...]) -> str:
    if len(names) <= 6:
        return ", ".join(names[:-1]) + f" or {names[-1]}" if len(names) > 1 else "".join(names)
    return ", ".join(names[:6]) + f" or {len(names) - 6} others"
