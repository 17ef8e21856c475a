"""What the README and its neighbours claim is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eagletui.cli.main import COMMANDS
from eagletui.tui.actions import ACTIONS
from tests.readme import README, keys_table, with_keys

ROOT = README.parent
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/architecture.md",
    "docs/profiles.md",
    "docs/recording.md",
    "profiles/README.md",
)


def test_the_keys_are_the_registrys() -> None:
    text = README.read_text(encoding="utf-8")
    assert text == with_keys(text), "the keys changed: run `make readme`"


def test_every_action_with_a_key_is_in_the_table() -> None:
    table = keys_table()
    for action in ACTIONS:
        assert (action.help in table) == bool(action.keys), action.id


def test_commands_that_are_named_exist() -> None:
    text = README.read_text(encoding="utf-8")
    named = set(re.findall(r"`eagletui ([a-z]+)\b", text))
    assert named <= set(COMMANDS), named - set(COMMANDS)
    assert set(COMMANDS) <= named, set(COMMANDS) - named


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    targets = re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8"))
    broken = [
        target
        for target in targets
        if "://" not in target and not (path.parent / Path(target)).exists()
    ]
    assert not broken


@pytest.mark.parametrize("page", PAGES)
def test_files_that_are_named_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:eagletui|tests|docs|themes|profiles)/[\w./-]+)`", text))
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing
