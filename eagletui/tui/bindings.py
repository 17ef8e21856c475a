"""Textual bindings of a screen, made from the table of actions."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from eagletui.tui.actions import actions_of, key_shown


def bindings_for(screen: str) -> list[BindingType]:
    """One binding an action; its id is what `[keys]` names."""
    return [
        Binding(
            action.keys,
            action.call if action.call.endswith(")") else f"{action.call}()",
            action.name,
            show=action.footer is not None,
            key_display=key_shown(action.keys.split(",")[0]),
            id=action.id,
            tooltip=action.help,
        )
        for action in actions_of(screen)
        if action.keys
    ]
