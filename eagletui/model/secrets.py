"""Masking of keys, tokens and passwords wherever text is shown, saved or exported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MASK = "•••"

_NAME = (
    r"(?:api[-_]?key|admin[-_]?api[-_]?key|secret(?:[-_]?key)?|access[-_]?key(?:[-_]?id)?|password|passwd"
    r"|passphrase|credentials?|auth[-_]?token|access[-_]?token|hf[-_]?token|bearer[-_]?token"
    r"|hub[-_]?token|private[-_]?key|ssl[-_]?keyfile[-_]?password|(?<![a-z])token(?![a-z]))"
)
# Names under which SGLang and its neighbours keep secrets. `max_total_tokens`, `token_usage`,
# `tokenizer_path`, `num_draft_tokens` and their like are not secrets.
_SECRET_NAME = re.compile(
    r"(?i)(?:^|[^a-z])(?:api_?key|secret|password|passwd|passphrase|credential|access_?key|private_?key)"
    r"|(?:^|_)token$|_pat$|_auth$"
)
_ASSIGNED = re.compile(
    rf"(?i)(?P<lead>[\"']?(?:--)?[a-z0-9_.-]*{_NAME}[\"']?\s*(?:=|:|\s)\s*)"
    r"(?P<value>(?P<q>[\"'])(?:\\.|(?!(?P=q)).)*(?P=q)|[^\s,;)\]}&\"']+)"
)
_FLAG = re.compile(rf"(?i)^--?[a-z0-9-]*{_NAME}$")
_FLAG_ASSIGNED = re.compile(rf"(?i)^(--?[a-z0-9-]*{_NAME}=)(.+)$")
_KNOWN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|AKIA[0-9A-Z]{16}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,})"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_URL_PASSWORD = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://[^\s/:@]+):[^\s/@]+@")
_HINT = re.compile(
    rb"(?i)key|secret|passw|passphrase|credential|token|bearer|basic |hf_|sk-|gh[pousr]_|glpat|xox|AKIA|eyJ|://[^\s/]*@"
)
_HARMLESS = {"none", "null", "true", "false", '""', "''"}


def is_secret_name(name: str) -> bool:
    """Whether a variable, flag or JSON key of this name holds a secret."""
    return _SECRET_NAME.search(name.replace("-", "_")) is not None


def _assigned(match: re.Match[str]) -> str:
    value = match["value"]
    if value.lower() in _HARMLESS or value.strip("'\"").lower() in _HARMLESS:
        return match[0]
    quote = match["q"] or ""
    return f"{match['lead']}{quote}{MASK}{quote}"


def mask(text: str) -> str:
    """The text with every secret it seems to hold replaced by dots."""
    text = _ASSIGNED.sub(_assigned, text)
    text = _KNOWN.sub(MASK, text)
    text = _BEARER.sub(lambda m: f"{m[1]} {MASK}", text)
    return _URL_PASSWORD.sub(rf"\1:{MASK}@", text)


def may_hold_secret(data: bytes) -> bool:
    """A quick look that never misses what `mask` would change."""
    return _HINT.search(data) is not None


def mask_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """A command line with the values of secret flags replaced."""
    masked: list[str] = []
    hide = False
    for word in argv:
        if hide:
            masked.append(MASK)
            hide = False
        elif _FLAG.match(word):
            masked.append(word)
            hide = True
        elif joined := _FLAG_ASSIGNED.match(word):
            masked.append(joined[1] + MASK)
        else:
            masked.append(mask(word))
    return tuple(masked)


def mask_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables with secret values replaced."""
    return {k: MASK if is_secret_name(k) and v else mask(v) for k, v in environment.items()}


def mask_value(name: str, value: Any) -> Any:
    """A JSON-like value under a name, masked all the way down."""
    if isinstance(value, Mapping):
        return {k: mask_value(str(k), v) for k, v in value.items()}
    if isinstance(value, str):
        return MASK if value and is_secret_name(name) else mask(value)
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [mask_value(name, item) for item in value]
    return value
