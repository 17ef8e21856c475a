"""The forms in which a secret stands in a text: one row each of `FORMS`.

To add a form, write what stands before the secret and what the secret is made of, and give the
needles: text that holds none of them, in lower case, is not looked at. Patterns are ASCII and cost
one pass over the text, however odd that is: a name is entered at its beginning only, and what is
repeated can't be cut up in two ways.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from eagletui.model.secret_names import is_harmless, is_secret_name

MASK = "•••"

HINTS = (
    *("key", "token", "secret", "pass", "pwd", "cred", "auth", "cookie", "dsn", "connection"),
    *("pat", "jwt", "bearer"),
)
"""Every name of a secret holds one of these."""
# `API Key: X`, `Invalid API key provided: X`: a name in words.
_KINDS = r"api|access|secret|private|admin|auth|bearer|session|refresh|license|security"
_TOLD = r"(?:[ \t]{1,4}(?:provided|given|used|received|supplied|is|was))"
# Names of a query's parameters that are too common to be secret elsewhere: `?key=X&sig=Y`.
_PARAMETERS = (
    r"key|sig|token|access_token|auth|pass"
    r"|(?:x-[a-z]{2,8}-)?(?:signature|credential|security-token)"
)
_SHAPES = (
    (r"hf_[A-Za-z0-9]{16,}", "hf_"),
    (r"sk-[A-Za-z0-9_-]{16,}", "sk-"),
    (r"gh[pousr]_[A-Za-z0-9]{20,}", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    (r"github_pat_[A-Za-z0-9_]{20,}", "github_"),
    (r"glpat-[A-Za-z0-9_-]{16,}", "glpat-"),
    (r"xox[abprs]-[A-Za-z0-9-]{10,}", "xox"),
    (r"nvapi-[A-Za-z0-9_-]{20,}", "nvapi-"),
    (r"(?:AKIA|ASIA)[0-9A-Z]{16}", ("akia", "asia")),
    (r"AIza[A-Za-z0-9_-]{35}", "aiza"),
    (r"eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]{5,})*", "eyj"),
)
"""What only secrets look like: a pattern, and the needle (or needles) in it."""

_WORD = r"[a-z0-9_.-]"
_NAME = rf"(?<!{_WORD})(?P<name>{_WORD}+)"
_QUOTE = r"\\{0,15}(?:\"{3}|'{3}|[\"'])"  # 15 backslashes: JSON in JSON, four times
_IS = r"[ \t]*(?:=>|:=|==?|:|%3[da]|\\{1,15}u003[da])[ \t]*"
_TYPED = r"(?:[ \t]*:[ \t]*(?:optional\[)?str\]?(?=[ \t]*=))?"  # `api_key: str = 'X'`
_QUOTED = (
    rf"(?P<open>[bru]{{0,2}}(?P<mark>{_QUOTE}))(?P<quoted>(?:(?!(?P=mark))(?:\\.|[^\n]))*)"
    r"(?P<end>(?P=mark)|(?=\n)|\Z)"
)
_PLAIN = r"[^\s,;&)\]}\"'\\]"
# Closing marks, and a backslash, belong to a value that goes on behind them.
_INSIDE = rf"[)\]}}\"'](?=[a-z0-9])|\\(?=[^\snrt\"'\\])|[,;&](?={_PLAIN})"
_SCHEME = r"(?:(?:bearer|basic|token)[ \t]+)?"
# A value ends where another name begins: `&n=1`, `,port=1`, `;path:`.
_BARE = rf"(?P<bare>{_SCHEME}{_PLAIN}(?:{_PLAIN}|(?![,;&]{_WORD}+\\*[\"']?[=:])(?:{_INSIDE}))*)"
# A word of a command line goes on to the next blank; what looks like the next flag is no value.
_FLAG = r"(?-i:--[a-z][a-z0-9-]*(?:[\s=,\"'\])\\]|\Z))|-(?:[\s,]|\Z)"
_BARE_WORD = rf"(?P<bare>(?!{_FLAG}){_PLAIN}(?:{_PLAIN}|{_INSIDE})*)"
_LIST = r"(?P<list>[\[({])(?P<items>(?:\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|[^\])}\"'\n])*)"
# The rest of a line, or of what is quoted with the name in it.
_REST = r"(?:[^\n\"'\\]|\\(?!\\{0,15}[\"'])|[\"'](?![\s,)\]}]|\Z))+"
_PARAMETERED = r"(?:digest|aws4-hmac-sha256|hawk|oauth|signature|mac|negotiate|ntlm)[ \t]"
_ITEM = re.compile(r"[^\s,\"']+")
_SHAPE = re.compile(rf"(?a)(?<![A-Za-z0-9])(?:{'|'.join(shape for shape, _ in _SHAPES)})")
_ADDRESSES = re.compile(r"://[^\s\"'<>]+")
_PORT = re.compile(r"(?a)(?:\[[^\]]*\]|[^:/@]*):[0-9]{1,5}(?:[/?#]|$)")
_WEB = re.compile(r"(?ai)(?:https?|wss?)$")
_REMEMBERED = 64
"""The longest name that is worth remembering."""


class Form(NamedTuple):
    """One form.

    Attributes:
        example: how it looks; X is hidden.
        hide: the text without the secrets that have this form.
        needles: at least one stands in every text that has the form, in lower case.
    """

    example: str
    hide: Callable[[str], str]
    needles: tuple[str, ...]


def _form(example: str, before: str, secret: str, needles: tuple[str, ...]) -> Form:
    """What stands before a secret, and what it is made of.

    A group `name` of the one has to be a secret's; of the other, the marks of a group `open` stay.
    """

    @cache
    def compiled() -> tuple[re.Pattern[str], re.Pattern[str]]:
        # At the first text with a needle: all of them together cost what a command need not pay.
        return re.compile(f"(?ai){before}"), re.compile(f"(?ai){secret}")

    def hide(text: str) -> str:
        head, value = compiled()
        parts: list[str] = []
        done = 0
        for found in head.finditer(text):
            if found.start() < done:
                continue
            names = _names(found)
            if names == ():
                continue
            held = value.match(text, found.end())
            if held is not None and (names is None or _keep(names, held)):
                parts += (text[done : found.end()], _covered(held))
                done = held.end()
        return "".join((*parts, text[done:])) if parts else text

    return Form(example, hide, needles)


def _names(found: re.Match[str]) -> tuple[str, ...] | None:
    """The names of secrets that may be meant; None where the form needs none."""
    groups = found.groupdict()
    if "kind" in groups:
        names = [f"{found['kind']}_{found['what']}"]
    elif "name" in groups:
        names = [found["name"]]
        at = found.start("name")
        if at and found.string[at - 1] == "\\" and names[0][0] in "nrt":
            names.append(names[0][1:])  # `\ntoken=X`: the letter is the end of an escape
    else:
        return None
    after = found.string[found.end() : found.end() + 1]
    if names[0][-4:].lower() == "pass" and ":" in found[0] and after not in ("'", '"'):
        return ()  # `second pass: capturing` is no password
    return tuple(n for n in names if (_known if len(n) <= _REMEMBERED else is_secret_name)(n))


@lru_cache(maxsize=2048)
def _known(name: str) -> bool:
    return is_secret_name(name)


def _keep(names: Sequence[str], held: re.Match[str]) -> bool:
    groups = held.groupdict()
    if groups.get("items") is not None:
        values = set(_ITEM.findall(held["items"]))
    else:
        values = {groups.get("quoted") or groups.get("bare") or ""}
    return any(not is_harmless(name, value) for name in names for value in values)


def _covered(held: re.Match[str]) -> str:
    groups = held.groupdict()
    return f"{groups.get('open') or groups.get('list') or ''}{MASK}{groups.get('end') or ''}"


def _hide_shapes(text: str) -> str:
    return _SHAPE.sub(MASK, text)


def _hide_users(text: str) -> str:
    """Passwords of addresses, and what stands for one alone: `https://TOKEN@host`."""
    return _ADDRESSES.sub(_without_users, text)


def _without_users(match: re.Match[str]) -> str:
    scheme = match.string[max(0, match.start() - 12) : match.start()]
    shown = [""]
    for part in match[0].split("://")[1:]:
        shown.append(_without_user(scheme, part))
        scheme = part
    return "://".join(shown)


def _without_user(scheme: str, part: str) -> str:
    at = part.partition("/")[0].rfind("@")
    if at < 0 and _PORT.match(part) is None and ":" in part.partition("/")[0]:
        at = part.rfind("@")  # a slash in the password
    if at < 0:
        return part
    user, colon, password = part[:at].partition(":")
    if colon:
        return f"{user}:{MASK}{part[at:]}" if password else part
    # Who logs in is no secret of ssh; a web address that names nobody's password holds a token.
    return f"{MASK}{part[at:]}" if user and _WEB.search(scheme) else part


_SHAPE_NEEDLES = tuple(
    needle for _, given in _SHAPES for needle in ((given,) if isinstance(given, str) else given)
)

FORMS: tuple[Form, ...] = (
    _form("Cookie: a=b; session=X", r"cookie2?[ \t]*:[ \t]*(?![\"'\[{(\\])", _REST, ("cookie",)),
    _form(
        'Authorization: Digest username="a", response="X"',
        rf"authorization[ \t]*:[ \t]*(?={_PARAMETERED})",
        r"[^\n]+",
        ("authorization",),
    ),
    _form(
        "HF_TOKEN=X, api_keys=['X', 'Y']",
        rf"{_NAME}\\*[\"']?\]?{_TOLD}?{_TYPED}{_IS}",
        rf"{_LIST}|{_QUOTED}|{_BARE}",
        HINTS,
    ),
    _form(
        "--api-key X, also quoted and in a list",
        rf"(?<!{_WORD})(?P<name>--?{_WORD}+)\\*[\"']?(?:[ \t]*,[ \t]*|[ \t]+)",
        rf"(?!\\*[\"'](?:{_FLAG}))(?:{_QUOTED}|{_BARE_WORD})",
        HINTS,
    ),
    _form(
        "(b'x-api-key', b'X')",
        rf"[(\[][ \t]*b?(?P<around>{_QUOTE}){_NAME}(?P=around)[ \t]*,[ \t]*",
        rf"{_QUOTED}(?=[ \t]*,?[ \t]*[)\]]|\n|\Z)",
        HINTS,
    ),
    _form(
        "Invalid API key provided: X",
        rf"\b(?P<kind>{_KINDS})[ \t]{{1,4}}(?P<what>keys?|tokens?){_TOLD}{{0,2}}"
        rf"(?:\\*[\"']?{_IS}|[ \t]+(?=\\*[\"']))",
        rf"{_QUOTED}|{_BARE}",
        ("key", "token"),
    ),
    _form(
        "?key=X&sig=Y",
        rf"(?:[?&]|&amp;)(?:{_PARAMETERS})=",
        r"[^\s&\"'#<>)\]\\]+",
        ("key=", "sig=", "signature=", "token=", "auth=", "pass=", "credential="),
    ),
    _form("<password>X</password>", rf"<{_NAME}>", r"(?P<bare>[^<\n]+)(?=</)", HINTS),
    Form("hf_X, and other shapes that only secrets have", _hide_shapes, _SHAPE_NEEDLES),
    _form(
        "Bearer X",
        r"\b(?:bearer|basic(?=[ \t]+(?-i:[a-z]*[A-Z0-9=+/])))[ \t]+(?!auth)",
        r"[a-z0-9._~+/=-]{8,}",
        ("bearer", "basic"),
    ),
    Form("https://ann:X@host", _hide_users, ("@",)),
)
