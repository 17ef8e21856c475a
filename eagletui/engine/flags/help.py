"""`python -m sglang.launch_server --help`, read back into options."""

from __future__ import annotations

import re

from eagletui.model.finding import Option

# An option's own line: two blanks and a dash. Its help stands deeper.
_LINE = re.compile(r"  (-{1,2}[A-Za-z].*)")
_FLAG = re.compile(r"(-{1,2}[A-Za-z][\w.-]*)(?: (.*))?")
# In the usage: `[--port PORT]`, `[--on | --no-on]`, `--model-path MODEL_PATH`.
_USED = re.compile(r"(?<![^\s\[(])(-{1,2}[A-Za-z][\w.-]*)")
_OTHERWISE = re.compile(r"\|\s+\S+")
_CHOICES = re.compile(r"\{([^{}]*)\}")
_MAX_OPTIONS = 4000


def parse_help(text: str) -> tuple[Option, ...]:
    """The options of argparse's help; () for a text that is something else.

    Of a value only its choices and how many words it takes are told, not its type.
    """
    options: list[Option] = []
    for line in text.splitlines():
        found = _LINE.fullmatch(line.rstrip())
        if found is None or len(options) >= _MAX_OPTIONS:
            continue
        option = _option(found[1])
        if option is not None:
            options.append(option)
    return tuple(options)


def untold(text: str, options: tuple[Option, ...]) -> tuple[str, ...]:
    """Options that the usage names and the help does not tell: what was read of it breaks off.

    Args:
        options: what `parse_help` found in it.
    """
    told = {flag for option in options for flag in option.flags}
    usage = _OTHERWISE.sub("", text.partition("usage:")[2].partition("\n\n")[0])
    # Before the first bracket stands how it was started: from Python 3.14 `python3 -m sglang…`.
    _, bracket, named = usage.partition("[")
    used = dict.fromkeys(_USED.findall(bracket + named))
    return tuple(flag for flag in used if flag not in told)


def _option(line: str) -> Option | None:
    # A short option's help begins on its own line, after two blanks.
    said = re.split(r" {2,}", line, maxsplit=1)[0]
    flags = []
    value = ""
    for part in re.split(r", (?=-)", said):
        found = _FLAG.fullmatch(part)
        if found is None:
            return None
        flags.append(found[1])
        # Up to Python 3.12 each spelling has its value, from 3.13 only the last one.
        value = found[2] or value
    choices = _CHOICES.match(value.lstrip("["))
    return Option(
        flags=tuple(flags),
        takes_value=bool(value),
        choices=tuple(choices[1].split(",")) if choices else (),
        nargs=_nargs(value),
    )


def _nargs(value: str) -> str:
    if value.endswith(("...]", "...")):
        return "*" if value.startswith("[") else "+"
    return "?" if value.startswith("[") else ""
