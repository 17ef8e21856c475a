"""Which names keep a secret, and which values under them are none.

A name is a variable, a flag, a header, a query parameter or a key of JSON. It is judged by its
words: `apiKey`, `--api-key` and `API_KEY` are the same name.
"""

from __future__ import annotations

import re

# A name keeps a secret when one of these stands in it. What no other word ends with may be glued
# to the words before it (`PGPASSWORD`, `MYAPIKEY`) …
_GLUED = (
    r"api_?keys?|secret_?keys?|secrets?|passwords?|passwd|passphrases?|credentials?|authorization"
)
# … what others do end with (`monkeys`, `compass`, `compat`) stands by itself, words joined by "_".
_APART = (
    r"(?:access|private|watermark|encryption|signing|license|account|master|auth|admin|shared"
    r"|subscription|ssh)_?keys?|pwd|creds|passcode|cookies?|dsn|connection_string"
)
# These count only as the last word.
_LAST = (
    r"(?:auth|access|api|bearer|hub|id)?token|auth|bearer|jwt|pat"
    r"|(?:pg|db|my|ssh|smtp|ldap|ftp|user|root|admin)?pass"
)
_SECRET = re.compile(rf"(?a)(?:{_GLUED})(?:_|$)|(?:^|_)(?:(?:{_APART})(?:_|$)|(?:{_LAST})$)")
# More than one token is a count of text, unless it is said whose they are …
_WHOSE_TOKENS = re.compile(
    r"(?a)(?:^|_)(?:my|our|api|access|auth|bearer|secret|refresh|admin|user|users|client|service|session"
    r"|bot|hf|hub|git|github|gitlab|slack|wandb|valid|allowed)_tokens$"
)
# … or a variable of the environment holds them.
_TOKENS_VARIABLE = re.compile(r"(?a)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_TOKENS")
# A name's end may say that it is about a secret only.
_ABOUT = re.compile(r"(?a)_(?:file|path|dir|env|name|header|url|type|length|len|size|usage|count)$")
# Tokens of text and passes of a model, not of identity: the word before the last.
_OF_TEXT = re.compile(
    r"(?a)(?:^|_)(?:(?:bos|eos|pad|unk|sep|cls|mask|image|audio|video|special|stop|start|end|first|last"
    r"|next|per|inter|output|input|prompt|completion|new|cached|max|min|num|total|think|draft|bonus"
    r"|accepted|decode|prefill|extend|verify|hot|full|swa|used|running|pending|reserved|chunked"
    r"|context|page|block|batch|generated|reasoning|estimation)_tokens?"
    r"|(?:forward|backward|first|second|last|decode|prefill|draft|verify|warmup|num|per|one|two|single"
    r"|multi|extend)_pass)$"
)
# SGLang's, of which a prefix is enough.
_SECRET_FLAGS = ("api-key", "admin-api-key")
HARMLESS = frozenset(
    {
        "",
        "none",
        "null",
        "nil",
        "true",
        "false",
        "unset",
        "required",
        "missing",
        "enabled",
        "disabled",
    }
    | {"<redacted>", "str", "optional[str]", "[]", "()", "{}"}
)
"""Values, in lower case, that are no secret under any name."""
_CAMEL = re.compile(r"(?a)(?<=[a-z0-9])(?=[A-Z])")
_NUMBER = re.compile(r"(?a)[-+]?[0-9.]+%?")
_FEW = re.compile(r"(?a)[0-9.]{1,4}")
_COUNTED = 8
"""Characters that a `token` has at least: shorter ones are words of a text."""


def is_secret_name(name: str) -> bool:
    """Whether a variable, flag, header or JSON key of this name holds a secret."""
    words = _words(name)
    if _SECRET.search(words) is None and not _keeps_tokens(name, words):
        return False
    return not (_ABOUT.search(words) or _OF_TEXT.search(words))


def is_secret_flag(flag: str) -> bool:
    """The same of a command line's flag, also of a prefix, as argparse takes it: `--api-k`."""
    name = flag.strip("-").replace("_", "-")
    return is_secret_name(name) or (
        len(name) > 1 and any(whole.startswith(name) for whole in _SECRET_FLAGS)
    )


def is_secret(name: str, value: str) -> bool:
    """Whether this value of this name is to be hidden: `token: 160` counts tokens."""
    return is_secret_name(name) and not is_harmless(name, value)


def is_harmless(name: str, value: str) -> bool:
    """Whether this value is none that the name of a secret keeps: it says that there is none."""
    if value.lower() in HARMLESS:
        return True
    if value == name.strip("-").replace("-", "_").upper():
        return True  # `--api-key API_KEY` of a usage text
    last = _words(name).rpartition("_")[2]
    if last in ("token", "tokens"):
        # `#token: 160`, `full token: 812`, `"token": " the"` count or spell tokens.
        spelled = name.lower() == "token" and len(value) < _COUNTED
        return spelled or _NUMBER.fullmatch(value) is not None
    return last == "pass" and _FEW.fullmatch(value) is not None


def _words(name: str) -> str:
    return _CAMEL.sub("_", name).replace("-", "_").replace(".", "_").lower().strip("_")


def _keeps_tokens(name: str, words: str) -> bool:
    return words.endswith("_tokens") and (
        _WHOSE_TOKENS.search(words) is not None or _TOKENS_VARIABLE.fullmatch(name) is not None
    )
