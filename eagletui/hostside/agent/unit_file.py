"""The text of a drop-in, by systemd's own rules of quoting (systemd.syntax(7), systemd.exec(5)).

In `ExecStart=` a word stands between double quotes with C's escapes; `%` and `$` are doubled. A
variable stands in an `EnvironmentFile=`, which is read by the unit's user alone, outweighs what
the unit sets itself, and knows neither `%` nor `$`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from eagletui.hostside.agent.base import Refused

ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a",
           "\b": "\\b", "\f": "\\f", "\v": "\\v"}  # fmt: skip
NAME = re.compile(r"(?a)[A-Za-z_]\w*")
UNSAFE_PATH = re.compile("[\x00-\x1f\x7f\\\\'\"]")
"""What systemd takes in no path of a program."""
UNSAFE_VALUE = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
"""What systemd takes in no variable."""
ENV = "/usr/bin/env"


def quoted(word: str, *, variables: bool = True) -> str:
    """One word of a setting.

    Args:
        variables: whether `$` means something there.
    """
    text = "".join(ESCAPES.get(letter) or _letter(letter) for letter in word)
    text = text.replace("%", "%%")
    return f'"{text.replace("$", "$$") if variables else text}"'


def _letter(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x20 or code == 0x7F else letter


def exec_start(program: str, argv: Sequence[str]) -> str:
    """The value of `ExecStart=`.

    Args:
        program: absolute path.
        argv: what the program sees, its own name first.

    Raises:
        Refused: bytes that are no text: systemd starts them, but cannot be asked any more.
    """
    if not all(map(_is_text, [program, *argv])):
        raise Refused("unit-cannot", what="a word of the command line")
    if UNSAFE_PATH.search(program):
        # env takes any name, and becomes the program.
        return " ".join([ENV, *map(quoted, [program, *argv[1:]])])
    path = quoted(program, variables=False)
    if argv[0] == program and "$" not in program:
        return " ".join([path, *map(quoted, argv[1:])])
    return " ".join([f"@{path}", *map(quoted, argv)])


def drop_in(
    *,
    argv: Sequence[str],
    program: str,
    environment_file: str,
    unset: Sequence[str] = (),
    workdir: str = "",
    log: str = "",
) -> str:
    """The whole file.

    Raises:
        Refused: a value that systemd cannot be told.
    """
    lines = ["# Written by eagletui; its launches write it anew. `systemctl revert` takes it away.",
             "[Service]", "ExecStart=", f"ExecStart={exec_start(program, argv)}",
             f"EnvironmentFile={_path(environment_file)}"]  # fmt: skip
    if unset:
        lines.append(f"UnsetEnvironment={' '.join(unset)}")
    if workdir:
        lines.append(f"WorkingDirectory={_path(workdir)}")
    if log:
        lines += [f"StandardOutput=append:{_path(log)}", f"StandardError=append:{_path(log)}"]
    return "\n".join(lines) + "\n"


def _path(path: str) -> str:
    if re.search("[\x00-\x1f\x7f]", path) or path != path.strip() or not _is_text(path):
        raise Refused("unit-cannot", what=f"the path {path!r}")
    if not path.startswith("/"):
        raise Refused("unit-cannot", what=f"the path {path!r}, which is not absolute")
    return path.replace("%", "%%")


def environment_file(environment: Mapping[str, str]) -> str:
    """Variables as `EnvironmentFile=` reads them; also those before systemd 239.

    Raises:
        Refused: a variable that systemd would drop.
    """
    lines = []
    for name, value in environment.items():
        if not NAME.fullmatch(name) or UNSAFE_VALUE.search(value) or not _is_text(value):
            raise Refused("unit-cannot", what=f"the variable {name}")
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'{name}="{escaped}"')
    return "\n".join(lines) + "\n"


def _is_text(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
