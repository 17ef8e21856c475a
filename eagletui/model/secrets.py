"""Masking of keys, tokens and passwords wherever text is shown, saved or exported.

Three questions are asked of a text: does a *name* that keeps a secret get a value (`--api-key X`,
`'api_key': 'X'`, `HF_TOKEN=X`, `Authorization: Bearer X`), is there a *shape* that only secrets
have (`hf_…`, `sk-…`), is there a URL with a password. `secret_forms` has the forms, one row each,
`secret_names` the names. All patterns are ASCII, so that `may_hold_secret` can ask the same of
bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eagletui.model.secret_forms import FORMS, MASK
from eagletui.model.secret_names import HARMLESS, is_secret, is_secret_flag, is_secret_name

__all__ = [
    "MASK",
    "is_secret_flag",
    "is_secret_name",
    "mask",
    "mask_argv",
    "mask_environment",
    "mask_value",
    "may_hold_secret",
]

_RARE = ("_", "@", "y", "x", "as", "cr", "ki")
"""What hardly a line of a log has, though several needles do: one look instead of one for each."""


def _needles() -> tuple[tuple[bytes, tuple[bytes, ...]], ...]:
    """What `FORMS` can't do without, each behind something rare that is in it.

    `token` stands in every decode line: it is asked for apart. A needle in a needle is enough.
    """
    every = {needle for form in FORMS for needle in form.needles if "token" not in needle}
    groups: dict[str, list[bytes]] = {}
    for needle in sorted(every):
        if not any(other in needle for other in every - {needle}):
            rare = next((rare for rare in _RARE if rare in needle), needle)
            groups.setdefault(rare, []).append(needle.encode())
    return tuple((rare.encode(), tuple(group)) for rare, group in groups.items())


_NEEDLES = _needles()
# A count (`#token: 160, `), a share (`token usage: 0.5`), a speed (`token/s`) or a `tokenizer`.
_TOKEN = re.compile(
    rb"token(?!(?:s?: |s=)[0-9.]{1,12},?(?:\s|\Z)|/s\)|iz| (?<![a-z0-9_.-]token )usage: )"
)


def mask(text: str) -> str:
    """The text with every secret it seems to hold replaced by dots."""
    low = text.lower()
    for form in FORMS:
        for needle in form.needles:
            if needle in low:
                text = form.hide(text)
                break
    return text


def may_hold_secret(data: bytes) -> bool:
    """A quick look that never misses what `mask` would change, and passes over decode lines."""
    low = data.lower()
    for rare, needles in _NEEDLES:
        if rare in low:
            for needle in needles:
                if needle in low:
                    return True
    return b"token" in low and _TOKEN.search(low) is not None


def mask_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """A command line with the values of secret flags replaced."""
    masked: list[str] = []
    hide = False
    for word in argv:
        name, equals, value = word.partition("=")
        flag = word.startswith("-") and is_secret_flag(name)
        if hide and not flag:
            masked.append(MASK if word else word)
        elif flag and equals:
            masked.append(f"{name}={MASK}" if value else word)
        else:
            masked.append(mask(word))
        hide = flag and not equals
    return tuple(masked)


def mask_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables with secret values replaced."""
    return {name: MASK if is_secret(name, v) else mask(v) for name, v in environment.items()}


def mask_value(name: str, value: Any) -> Any:
    """A JSON-like value under a name, masked all the way down."""
    secret = is_secret_name(name)
    if isinstance(value, Mapping):
        return {k: mask_value(name if secret else str(k), v) for k, v in value.items()}
    if isinstance(value, str):
        return MASK if secret and value.lower() not in HARMLESS else mask(value)
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        items = list(value)
        if not items or not all(isinstance(item, str) for item in items):
            return [mask_value(name, item) for item in items]
        if secret:
            return [MASK] * len(items)
        if len(items) == 2 and is_secret(*items):  # a header of ASGI
            return [items[0], MASK]
        return list(mask_argv(items))
    if secret and isinstance(value, int) and not isinstance(value, bool):
        return MASK if "token" not in name.lower() else value
    return value
