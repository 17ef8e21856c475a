"""What exactly differs between two starts: flags, environment, and the rest of the plan.

Secrets are masked and references left readable, so that all of it can be shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from eagletui.engine.flagwords import same_flag, spelling, split_command
from eagletui.model.profile import StartPlan
from eagletui.model.references import mask_start, mask_start_environment
from eagletui.model.switching import Change

# The port is a flag.
_FIELDS = ("workdir", "log", "runner", "unit", "container")


def difference(before: StartPlan, after: StartPlan) -> tuple[Change, ...]:
    """Changes in the order of the command line, then variables, then the rest.

    A flag under another spelling with the same value is no change; a secret that changed is one,
    though both sides look alike.
    """
    old_command, old_flags = _flags(before.argv)
    new_command, new_flags = _flags(after.argv)
    changes: list[Change] = []
    if old_command != new_command:
        changes.append(
            Change(
                where="command",
                name="command",
                before=" ".join(mask_start(old_command)),
                after=" ".join(mask_start(new_command)),
            )
        )
    for name in dict.fromkeys((*old_flags, *new_flags)):
        old, new = old_flags.get(name), new_flags.get(name)
        if [v for _, v in old or ()] != [v for _, v in new or ()] or (old is None) != (new is None):
            shown = (new or old or [(name, ())])[0][0]
            changes.append(Change(where="flag", name=shown, before=_said(old), after=_said(new)))
    changes += _variables(before.environment, after.environment)
    changes += [
        Change(where="plan", name=field, before=_text(old), after=_text(new))
        for field in _FIELDS
        if (old := getattr(before, field)) != (new := getattr(after, field))
    ]
    return tuple(changes)


_Occurrences = list[tuple[str, tuple[str, ...]]]


def _flags(argv: Sequence[str]) -> tuple[tuple[str, ...], dict[str, _Occurrences]]:
    """The command, and the flags by one name for all spellings, each with its occurrences."""
    command, flags = split_command(argv)
    found: dict[str, _Occurrences] = {}
    for flag in flags:
        spelt = spelling(flag.key).rstrip("=")
        found.setdefault(same_flag(flag.key), []).append((spelt, flag.values))
    return command, found


def _said(occurrences: _Occurrences | None) -> str | None:
    if occurrences is None:
        return None
    return "; ".join(" ".join(mask_start((spelt, *values))[1:]) for spelt, values in occurrences)


def _variables(before: dict[str, str], after: dict[str, str]) -> list[Change]:
    names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    old, new = mask_start_environment(before), mask_start_environment(after)
    return [
        Change(where="environment", name=name, before=old.get(name), after=new.get(name))
        for name in names
    ]


def _text(value: object) -> str | None:
    return str(value) if value not in ("", None) else None
