"""Masking of keys, tokens and passwords wherever text is shown, saved or exported.

Three questions are asked of a text: does a *name* that keeps a secret get a value (`--api-key X`,
`'api_key': 'X'`, `HF_TOKEN=X`, `Authorization: Bearer X`), is there a *shape* that only secrets
have (`hf_…`, `sk-…`), is there a URL with a password. All patterns are ASCII, so that
`may_hold_secret` can ask the same of bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MASK = "•••"

# A name keeps a secret when one of these stands in it, words joined by "_".
_SECRET_PARTS = re.compile(
    r"(?a)(?:^|_)(?:(?:api|access|secret|private|watermark|encryption|signing|license|account|master)_?keys?"
    r"|secrets?|passwords?|passwd|passphrase|pwd|credentials?|authorization|cookie|dsn"
    r"|connection_string)(?:_|$)|(?:^|_)(?:token|auth|pat)$|(?:^|_)authtoken$"
)
# … unless its end says that it is about a secret only.
_ABOUT = re.compile(r"(?a)_(?:file|path|dir|env|name|header|url|type|length|len|size|usage|count)$")
# Tokens of text, not of identity: the word before `_token`.
_TEXT_TOKENS = re.compile(
    r"(?a)(?:^|_)(?:bos|eos|pad|unk|sep|cls|mask|image|audio|video|special|stop|start|end|first|last"
    r"|next|per|inter|output|input|prompt|new|cached|max|min|num|total|think|draft|bonus|accepted"
    r"|decode|prefill|hot|full|swa)_token$"
)
# SGLang's, of which a prefix is enough.
_SECRET_FLAGS = ("api-key", "admin-api-key")
_HARMLESS = frozenset({"", "none", "null", "true", "false", "<redacted>", "str", "optional[str]"})
_CAMEL = re.compile(r"(?a)(?<=[a-z0-9])(?=[A-Z])")

_HINTS = r"key|token|secret|passw|passphrase|pwd|credential|auth|cookie|dsn|connection|pat"
# Lengths are bounded: no text, however odd, may cost more than one pass.
_NAME = rf"[a-z0-9_.-]{{0,64}}(?:{_HINTS})[a-z0-9_.-]{{0,64}}"
_VALUE = (
    r"(?P<q>\\*[\"'])(?P<quoted>(?:(?!(?P=q))(?:\\.|[^\n]))*)(?P<end>(?P=q)|(?=\n)|\Z)"
    r"|(?P<bare>(?:(?:bearer|basic|token)[ \t]+)?[^\s,;)\]}&\"'\\]+)"
)
_ASSIGNED = re.compile(
    rf"(?ai)(?<![a-z0-9_.-])(?P<name>{_NAME})(?P<lead>\\*[\"']?[ \t]*[=:][ \t]*)(?:{_VALUE})"
)
_FLAGGED = re.compile(
    rf"(?ai)(?<![a-z0-9_.-])(?P<name>--?{_NAME})"
    rf"(?P<lead>\\*[\"']?[ \t]*,[ \t]*|\\*[\"']?[ \t]+)(?!--?[a-z])(?:{_VALUE})"
)
_NUMBER = re.compile(r"(?a)[-+]?[0-9.]+%?")
_KNOWN = re.compile(
    r"(?a)(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|AKIA[0-9A-Z]{16}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,})"
)
_BEARER = re.compile(r"(?ai)\b(?P<kind>bearer|basic)[ \t]+(?!auth)[a-z0-9._~+/=-]{8,}")
_URL = re.compile(
    r"(?ai)(?P<lead>\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@\"']{0,256}:)(?P<password>[^\s/@\"']{1,512})@"
)

# What `mask` can't change a text without, lower case: a letter that is rare in a log, and the
# needles worth looking for where it is there. `token` stands in every decode line: asked for apart.
_NEEDLES: tuple[tuple[bytes, tuple[bytes, ...]], ...] = (
    (b"y", (b"key", b"eyj")),
    (b"_", (b"hf_", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_", b"_string")),
    (b"x", (b"xox",)),
    (b"cr", (b"secret", b"credential")),
    (b"sk-", (b"sk-",)),
    (b"pass", (b"passw", b"passphrase")),
    *((needle, (needle,)) for needle in (b"pwd", b"auth", b"cookie", b"dsn", b"pat", b"akia")),
    *((needle, (needle,)) for needle in (b"bearer", b"basic")),
)
_TOKEN_ASSIGNED = re.compile(
    rb"token[_.-]*\\*[\"']?[ \t]*[=:][ \t]*(?=\S)(?![-+]?[0-9.]+%?(?:[\s,;)\]}&\"'\\]|\Z))"
)
_TOKEN_FLAGGED = re.compile(
    rb"-[a-z0-9_.-]{0,130}token[_.-]{0,64}\\*[\"']?(?:[ \t]*,[ \t]*|[ \t]+)(?=\S)"
)


def is_secret_name(name: str) -> bool:
    """Whether a variable, flag, header or JSON key of this name holds a secret."""
    words = _CAMEL.sub("_", name).replace("-", "_").replace(".", "_").lower().strip("_")
    if _SECRET_PARTS.search(words) is None or _ABOUT.search(words):
        return False
    return _TEXT_TOKENS.search(words) is None


def is_secret_flag(flag: str) -> bool:
    """The same of a command line's flag, also of a prefix, as argparse takes it: `--api-k`."""
    name = flag.strip("-").replace("_", "-")
    return is_secret_name(name) or (
        len(name) > 1 and any(whole.startswith(name) for whole in _SECRET_FLAGS)
    )


def mask(text: str) -> str:
    """The text with every secret it seems to hold replaced by dots."""
    text = _ASSIGNED.sub(_hidden, text)
    text = _FLAGGED.sub(_hidden, text)
    text = _KNOWN.sub(MASK, text)
    text = _BEARER.sub(lambda m: f"{m['kind']} {MASK}", text)
    return _URL.sub(lambda m: f"{m['lead']}{MASK}@", text)


def may_hold_secret(data: bytes) -> bool:
    """A quick look that never misses what `mask` would change, and passes over decode lines."""
    low = data.lower()
    for rare, needles in _NEEDLES:
        if rare in low and any(needle in low for needle in needles):
            return True
    if b"@" in low and b"://" in low:
        return True
    return b"token" in low and (
        _TOKEN_ASSIGNED.search(low) is not None or _TOKEN_FLAGGED.search(low) is not None
    )


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
    return {k: MASK if is_secret_name(k) and v else mask(v) for k, v in environment.items()}


def mask_value(name: str, value: Any) -> Any:
    """A JSON-like value under a name, masked all the way down."""
    if isinstance(value, Mapping):
        return {k: mask_value(str(k), v) for k, v in value.items()}
    if isinstance(value, str):
        secret = is_secret_name(name) and value.lower() not in _HARMLESS
        return MASK if secret else mask(value)
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        items = list(value)
        if items and all(isinstance(item, str) for item in items):
            return list(mask_argv(items)) if not is_secret_name(name) else [MASK] * len(items)
        return [mask_value(name, item) for item in items]
    if is_secret_name(name) and isinstance(value, int) and not isinstance(value, bool):
        return MASK if "token" not in name.lower() else value
    return value


def _hidden(match: re.Match[str]) -> str:
    name = match["name"]
    if not is_secret_name(name):
        return match[0]
    quote = match["q"]
    value = match["quoted"] if quote is not None else match["bare"]
    if value.lower() in _HARMLESS or value == name.lstrip("-").replace("-", "_").upper():
        return match[0]  # the last: `--api-key API_KEY` of a usage text
    if name.lower().endswith("token") and (
        _NUMBER.fullmatch(value) or (name.lower() == "token" and len(value) < 8)
    ):
        # `#token: 160`, `full token: 812`, `"token": " the"` count or spell tokens.
        return match[0]
    hidden = f"{quote}{MASK}{match['end']}" if quote is not None else MASK
    return f"{name}{match['lead']}{hidden}"
