"""Numbers that are none: `nan` lies in every range, and a command that waits for it never ends."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from eagletui.cli.main import COMMANDS, main
from eagletui.cli.options import Number


def _numbers() -> list[tuple[str, str]]:
    found = [("", parameter.opts[0]) for parameter in main.params if _takes_numbers(parameter)]
    with click.Context(main) as ctx:
        for name in COMMANDS:
            command = main.get_command(ctx, name)
            assert command is not None
            found += [(name, p.opts[0]) for p in command.params if _takes_numbers(p)]
    return found


def _takes_numbers(parameter: click.Parameter) -> bool:
    return isinstance(parameter.type, click.types.FloatParamType)


def test_every_number_is_checked() -> None:
    assert {("stop", "--drain"), ("launch", "--settle"), ("", "--interval")} <= set(_numbers())


@pytest.mark.parametrize("value", ["nan", "-nan", "inf", "-inf", "1e999"])
@pytest.mark.parametrize(("command", "option"), _numbers())
def test_what_is_no_number_is_refused(command: str, option: str, value: str) -> None:
    words = [command] if command else ["--local"]
    done = CliRunner().invoke(main, [*words, f"{option}={value}"])
    assert done.exit_code == 2
    assert f"'{option}'" in done.output


def test_a_number_is_a_number() -> None:
    assert Number(0.0, 2.0).convert("1.5", None, None) == 1.5
