"""The profiles that commands know: the person's own over those that ship."""

from __future__ import annotations

from eagletui.engine.flagwords import same_flag
from eagletui.store.places import profiles_folder, shipped_profiles_folder
from eagletui.store.profiles.shelf import Profiles


def all_profiles() -> Profiles:
    """Every profile of this machine."""
    return Profiles((profiles_folder(), shipped_profiles_folder()), same_flag)
