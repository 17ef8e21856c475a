"""The README's table of keys, made from the registry: `make readme` writes it, a test compares."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from eagletui.tui.actions import ACTIONS, Action, key_shown, keys_of

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- keys: begin -->\n", "<!-- keys: end -->\n"


def keys_table() -> str:
    """Every action that has a key, group by group, in Markdown."""
    rows = ["| | keys | |", "|---|---|---|"]
    with_keys = [action for action in ACTIONS if action.keys]
    for group, actions in groupby(with_keys, key=lambda action: action.group):
        for index, action in enumerate(actions):
            title = f"**{group}**" if index == 0 else ""
            rows.append(f"| {title} | {_keys(action)} | {action.help} |")
    return "\n".join(rows) + "\n"


def _keys(action: Action) -> str:
    shown = [key_shown(key).replace("^", "ctrl+") for key in keys_of(action, {})]
    return " ".join(f"`{key}`" for key in shown).replace("|", "\\|")


def with_keys(readme: str) -> str:
    """The README with its table as the registry has it now."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{keys_table()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_keys(README.read_text(encoding="utf-8")), encoding="utf-8")
