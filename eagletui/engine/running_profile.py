"""What runs, as a profile that starts it with its secrets: for memory only, never shown or kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import msgspec

from eagletui.engine.import_server import Imported
from eagletui.engine.start_plan import start_plan
from eagletui.model.profile import Profile
from eagletui.model.references import reference, written

_ANY_TIME = datetime(2000, 1, 1, tzinfo=timezone.utc)


def with_secrets(
    imported: Imported, argv: Sequence[str], environment: Mapping[str, str]
) -> Profile:
    """The imported profile with the server's own secrets in the place of references.

    Args:
        argv, environment: unmasked, as the profile was imported from them.
    """
    profile = imported.profile
    variables = [secret.variable for secret in imported.secrets]
    if not variables:
        return profile
    values: dict[str, str] = {}
    for ours, theirs in zip(start_plan(profile, now=_ANY_TIME).argv, argv, strict=False):
        for variable in variables:
            if ours.endswith(reference(variable)):
                begin = len(ours) - len(reference(variable))
                values[reference(variable)] = written(theirs[begin:])
    for name, value in profile.environment.items():
        if value in map(reference, variables) and name in environment:
            values[value] = written(environment[name])
    filled = _filled(msgspec.to_builtins(profile), values)
    return msgspec.convert(filled, Profile)


def _filled(document: Any, values: Mapping[str, str]) -> Any:
    if isinstance(document, str):
        return values.get(document, document)
    if isinstance(document, Mapping):
        return {key: _filled(value, values) for key, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [_filled(value, values) for value in document]
    return document
