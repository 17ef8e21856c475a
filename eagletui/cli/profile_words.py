"""Profiles for a person and as JSON; secrets masked, references readable."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from eagletui.engine.flagwords import spelling
from eagletui.engine.plan_difference import difference
from eagletui.engine.start_plan import ProfileIncomplete, flags_in_order, start_plan
from eagletui.model.profile import FlagValue, Profile, StartPlan
from eagletui.model.references import mask_start, mask_start_environment, referred
from eagletui.model.secrets import mask_value
from eagletui.model.switching import Change
from eagletui.store.profiles.file import ProfileFile
from eagletui.store.profiles.shelf import Shelf, parts_of

_OWN, _SHIPPED = "yours", "ships"


# --- list -----------------------------------------------------------------------------------------


def list_document(shelf: Shelf) -> dict[str, Any]:
    """The contract of `profiles list --json`."""
    return {
        "profiles": [
            {
                "name": row.profile.name,
                "title": row.profile.title,
                "parts": list(row.parts),
                "shipped": row.shipped,
                "path": row.profile.source,
                "extends": row.file.extends or None,
                "include": list(row.file.include),
            }
            for row in shelf.profiles
        ],
        "problems": [
            {
                "path": getattr(problem, "path", None),
                "line": getattr(problem, "line", None),
                "message": problem.what,
                "advice": problem.advice,
            }
            for problem in shelf.problems
        ],
    }


def list_lines(shelf: Shelf) -> Iterator[str]:
    """One line a profile."""
    rows = [
        (
            row.profile.name,
            _SHIPPED if row.shipped else _OWN,
            " ".join(row.parts) or "nothing",
            row.profile.title,
        )
        for row in shelf.profiles
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        yield "  ".join((*cells, row[3])).rstrip()


# --- show -----------------------------------------------------------------------------------------


def profile_document(profile: Profile, file: ProfileFile | None = None) -> dict[str, Any]:
    """The contract of `profiles show --json`; `command` is null for a part that starts nothing."""
    plan = _plan(profile)
    whole: dict[str, Any] = msgspec.to_builtins(profile)
    whole["server"]["flags"] = _masked_flags(profile.server.flags)
    whole["server"]["command"] = list(mask_start(profile.server.command))
    whole["speculative"]["flags"] = _masked_flags(profile.speculative.flags)
    whole["environment"] = mask_start_environment(profile.environment)
    return {
        **whole,
        "parts": list(parts_of(profile, file)),
        "unset": list(file.unset) if file is not None else [],
        "command": list(mask_start(plan.argv)) if plan else None,
        "secrets": references_of(profile),
    }


def profile_lines(profile: Profile, file: ProfileFile | None = None) -> Iterator[str]:
    """The same for a person."""
    yield f"{profile.name}: {profile.title}" if profile.title else profile.name
    yield f"  from {profile.source}"
    for line in profile.note.strip().splitlines():
        yield f"  {line}"
    plan = _plan(profile)
    yield ""
    if plan is not None:
        yield from command_lines(plan)
        yield ""
        yield f"  port {plan.port}, run by {plan.runner}{_where(plan)}"
    else:
        yield "  A part, to be laid over a server's profile:"
        for flag in flags_in_order(profile):
            yield "  " + shlex.join(mask_start((spelling(flag.key).rstrip("="), *flag.values)))
        if profile.speculative.off:
            yield "  no --speculative-… flags"
        for name, value in mask_start_environment(profile.environment).items():
            yield f"  {name}={shlex.quote(value)}"
        if file is not None and file.unset:
            yield f"  takes away {', '.join(file.unset)}"
    guard = [text for text in _guard(profile) if text]
    if guard:
        yield f"  guard: {', '.join(guard)}"
    if names := references_of(profile):
        yield f"  secrets, taken from eagletui's environment at the start: {', '.join(names)}"


def command_lines(plan: StartPlan) -> Iterator[str]:
    """Environment and command as a shell would take them, one flag a line. To be read, not run."""
    for name, value in mask_start_environment(plan.environment).items():
        yield f"  {name}={shlex.quote(value)} \\"
    words = mask_start(plan.argv)
    line: list[str] = []
    for word in words:
        if word.startswith("--") and line:
            yield f"  {shlex.join(line)} \\"
            line = ["   "]
        line.append(word)
        if line[0] == "   ":
            line = [word]
    if line:
        yield f"  {shlex.join(line)}"


def references_of(profile: Profile) -> list[str]:
    """The variables a start takes secrets from."""
    values = [*profile.environment.values(), *profile.server.command]
    for flag in flags_in_order(profile):
        values += flag.values
    return list(dict.fromkeys(name for value in values if (name := referred(value))))


def clear_secrets(profile: Profile) -> list[str]:
    """Flags and variables whose secret stands in a file as it is."""
    found = []
    for flag in flags_in_order(profile):
        words = (spelling(flag.key).rstrip("="), *flag.values)
        if mask_start(words) != words:
            found.append(words[0])
    masked = mask_start_environment(profile.environment)
    return [*found, *(k for k, v in profile.environment.items() if masked[k] != v)]


def _masked_flags(flags: Mapping[str, FlagValue]) -> dict[str, Any]:
    return {
        key: value
        if isinstance(value, str) and referred(value)
        else mask_value(spelling(key).strip("-").rstrip("="), value)
        for key, value in flags.items()
    }


def _plan(profile: Profile) -> StartPlan | None:
    try:
        return start_plan(profile, now=datetime.now().astimezone())
    except ProfileIncomplete:
        return None


def _where(plan: StartPlan) -> str:
    parts = [
        f" {plan.unit}" if plan.unit else "",
        f" {plan.container}" if plan.container else "",
        f", in {plan.workdir}" if plan.workdir else "",
        f", log {plan.log}" if plan.log else "",
    ]
    return "".join(parts)


def _guard(profile: Profile) -> Iterator[str]:
    guard = profile.guard
    yield "read only" if guard.read_only else ""
    yield "protected" if guard.protected else ""
    yield f"drain {guard.drain_seconds:g} s"
    yield f"stop {guard.stop_seconds:g} s"
    yield f"start {guard.start_seconds:g} s" if guard.start_seconds is not None else ""
    yield f"roll back: {guard.roll_back}"


# --- diff -----------------------------------------------------------------------------------------


def difference_document(before: StartPlan, after: StartPlan) -> dict[str, Any]:
    """The contract of `profiles diff --json`."""
    changes = difference(before, after)
    return {
        "before": before.profile,
        "after": after.profile,
        "same": not changes,
        "changes": [msgspec.to_builtins(change) for change in changes],
        "command": list(mask_start(after.argv)),
        "environment": mask_start_environment(after.environment),
    }


def difference_lines(before: StartPlan, after: StartPlan) -> Iterator[str]:
    """The same for a person."""
    changes = difference(before, after)
    if not changes:
        yield f"{before.profile} and {after.profile} start the same."
        return
    yield f"from {before.profile} to {after.profile}"
    width = max(len(change.name) for change in changes)
    for change in changes:
        sides = f"{_side(change.before)} → {_side(change.after)}{_same(change)}"
        yield f"  {change.name:<{width}}  {sides}"
    yield ""
    yield from command_lines(after)


def _side(value: str | None) -> str:
    return "–" if value is None else value or "(given)"


def _same(change: Change) -> str:
    return "  (another secret)" if change.before == change.after else ""
