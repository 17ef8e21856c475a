"""What can be chosen in the place of a server: the lists of the switcher."""

from __future__ import annotations

from eagletui.cli.running_base import Base, exact, is_whole
from eagletui.engine.plan_difference import difference
from eagletui.model.errors import EagletuiError
from eagletui.model.profile import Profile, ServerPart, SpeculativePart
from eagletui.model.switching import PARTS, Menu, Part, Row
from eagletui.model.text import visible
from eagletui.store.profiles.shelf import Profiles, Shelved


def menu_of(profiles: Profiles, base: Base | None, back: str) -> Menu:
    """Every profile in its list, those that run marked.

    Args:
        back: what going back would start; "" for nothing.
    """
    shelf = profiles.shelf()
    rows: dict[Part, list[Row]] = {part: [] for part in PARTS}
    for shelved in shelf.profiles:
        if shelved.parts:
            rows[_list_of(shelved)].append(_row(profiles, base, shelved))
    return Menu(
        servers=(*([Row(runs=True)] if base else []), *rows["server"]),
        speculative=(Row(runs=True), *rows["speculative"]),
        environments=(Row(runs=True), *rows["environment"]),
        runs=visible(base.profile.name) if base else "",
        problems=tuple(visible(problem.what) for problem in shelf.problems),
        back=back,
    )


def _row(profiles: Profiles, base: Base | None, shelved: Shelved) -> Row:
    profile = shelved.profile
    runs = False
    if base is not None and _sets_something(profile):
        try:
            laid = exact(combined_with(profiles, base, profile.name))
        except EagletuiError:
            laid = None
        plain = exact(base.profile)
        runs = laid is not None and not [
            change for change in difference(plain, laid) if change.where != "plan"
        ]
    return Row(
        name=profile.name,
        title=visible(profile.title),
        note=visible(profile.note),
        runs=runs,
        whole=is_whole(profile),
    )


def combined_with(profiles: Profiles, base: Base | None, name: str) -> Profile:
    """A profile as a server: a part is laid over what runs, where something does.

    Raises:
        ConfigError: it cannot be read, or says something impossible.
    """
    profile = profiles.load(name)
    if is_whole(profile) or base is None:
        return profile
    return profiles.over(base.profile, name)


def _list_of(shelved: Shelved) -> Part:
    """Where a profile is chosen: by its first part; a guard says how a server is treated."""
    return next((part for part in PARTS if part in shelved.parts), "server")


def _sets_something(profile: Profile) -> bool:
    """Whether a server can be seen to run with it.

    One that only takes away fits every server that never had it, and a guard shows in no process.
    """
    parts = (profile.server, profile.speculative, profile.environment)
    return parts != (ServerPart(), SpeculativePart(), {})
