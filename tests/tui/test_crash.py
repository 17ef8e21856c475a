"""A fault of ours: what is printed holds no secret, and the exit code says that it was one."""

from __future__ import annotations

import pytest

from eagletui.cli import screen
from eagletui.tui.app import EagleApp
from tests.tui.driving import make_app, settle

SECRET = "hf_" + "abcdefghijklmnopqrstuvwx"


class Fault(Exception):
    """Ours."""


async def test_the_traceback_has_no_locals_no_secret_and_no_escape() -> None:
    app = make_app()
    printed: list[str] = []

    def fail() -> None:
        unnamed = "a local " + "variable"
        raise Fault(f"\x1b]0;title\x07{len(unnamed)} api_key={SECRET[3:]} {SECRET}")

    with pytest.raises(Fault):  # noqa: PT012
        async with app.run_test() as pilot:
            await settle(pilot)
            app.call_later(fail)
            await settle(pilot)
            printed = [str(part) for part in app._exit_renderables]
    assert len(printed) == 1
    assert "Fault: 16 api_key=••• •••" in printed[0]
    assert "a local variable" not in printed[0]
    assert "\x1b" not in printed[0]
    assert app.return_code == 1


@pytest.mark.parametrize("code", [1, 3])
def test_the_command_ends_with_the_code_of_the_screen(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "_is_terminal", lambda stream: True)
    monkeypatch.setattr(EagleApp, "run", lambda app: app.exit(return_code=code))
    with pytest.raises(SystemExit) as left:
        screen.open_screen("gpu1", screen.ScreenOptions())
    assert left.value.code == code
