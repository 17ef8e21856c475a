"""Numbers that are none: `nan` lies in every range, and a command that waits for it never ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import pytest
from click.testing import CliRunner
from click.types import FloatParamType, IntParamType

from eagletui.cli.main import main
from eagletui.cli.options import Number, Whole, Wholes
from eagletui.model.numerals import decimal
from tests.no_numbers import NO_NUMBERS


def _options(command: click.Command, *words: str) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Every option that takes numbers, of a command and of those below it."""
    for parameter in command.params:
        if isinstance(parameter.type, (FloatParamType, IntParamType, Wholes)):
            yield words, parameter.opts[0], parameter.type
    if isinstance(command, click.Group):
        with click.Context(command) as ctx:
            for name in command.list_commands(ctx):
                below = command.get_command(ctx, name)
                assert below is not None
                yield from _options(below, *words, name)


OPTIONS = tuple(_options(main))


def test_every_number_is_checked_by_a_type_of_ours() -> None:
    named = {(words, option) for words, option, _ in OPTIONS}
    assert {
        (("stop",), "--drain"), (("launch",), "--settle"), ((), "--interval"), ((), "--pid"),
        (("bench",), "--concurrency"), (("bench",), "--seed"), (("stop",), "--port"),
        (("profiles", "import"), "--pid"),
    } <= named  # fmt: skip
    assert {type(kind) for _, _, kind in OPTIONS} == {Number, Whole, Wholes}


@pytest.mark.parametrize("value", ["nan", "1_0", "9" * 5000])
@pytest.mark.parametrize(("words", "option"), [(words, option) for words, option, _ in OPTIONS])
def test_what_is_no_number_is_refused_in_a_few_words(
    words: tuple[str, ...], option: str, value: str
) -> None:
    done = CliRunner().invoke(main, [*(words or ["--local"]), f"{option}={value}"])
    assert done.exit_code == 2
    assert f"'{option}'" in done.output
    assert len(done.output) < 600


@pytest.mark.parametrize("value", ["nan", "-nan", "inf", "-inf", "1e999", "1e1000", *NO_NUMBERS])
@pytest.mark.parametrize("kind", [Number(), Whole(), Wholes(1, 9)])
def test_what_is_no_number_is_none_for_each_type(kind: click.ParamType[Any], value: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        kind.convert(value, None, None)
    assert len(caught.value.message) < 100


def test_a_number_is_a_number() -> None:
    assert Number(0.0, 2.0).convert("1.5", None, None) == 1.5
    assert Number(0.0, 2.0).convert(1, None, None) == 1.0
    assert Whole(1, 9).convert("+5", None, None) == 5
    assert Wholes(1, 9).convert("8, 1,8", None, None) == (8, 1)


@pytest.mark.parametrize("text", ["0", "-1", "+1.", ".5", "1.5e-3", "2E+2", "0" * 30])
def test_what_others_read_as_a_number_is_read_so(text: str) -> None:
    assert decimal(text) == float(text)


def test_a_port_of_a_host_is_a_number_of_five_digits() -> None:
    for port in NO_NUMBERS:
        done = CliRunner().invoke(main, ["doctor", "--host", f"gpu1:{port}"])
        assert (done.exit_code, "port" in done.output) == (2, True), done.output
        assert len(done.output) < 600
