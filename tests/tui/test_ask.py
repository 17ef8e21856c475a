"""Questions of the host become dialogs; the safe answer is the default."""

from __future__ import annotations

import asyncio

from textual.widgets import Button, Input

from eagletui.model.ask import HostKeyQuestion, SecretQuestion
from tests.tui.driving import make_app, settle

KEY = HostKeyQuestion(
    host="gpu1",
    address="10.0.0.17:22",
    key_type="ssh-ed25519",
    fingerprint="SHA256:2Vd0nN3mXq0W1",
    file="~/.ssh/known_hosts",
)


async def test_a_password_is_hidden_and_returned() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        asked = asyncio.create_task(
            app.asker.secret(SecretQuestion(host="gpu1", subject="Password for ann@gpu1"))
        )
        await settle(pilot)
        assert app.screen.query_one(Input).password
        await pilot.press(*"s3cret", "enter")
        assert await asked == "s3cret"


async def test_cancelling_is_a_refusal() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        asked = asyncio.create_task(app.asker.secret(SecretQuestion(host="a", subject="Password")))
        await settle(pilot)
        await pilot.press("escape")
        assert await asked is None


async def test_questions_wait_for_each_other() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        first = asyncio.create_task(app.asker.secret(SecretQuestion(host="a", subject="one")))
        second = asyncio.create_task(
            app.asker.secret(SecretQuestion(host="b", subject="two", echo=True, again=True))
        )
        await settle(pilot)
        await pilot.press("1", "enter")
        await settle(pilot)
        assert not app.screen.query_one(Input).password
        assert not second.done()
        await pilot.press("2", "enter")
        assert (await first, await second) == ("1", "2")


async def test_an_unknown_host_key_has_cancel_in_focus() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        asked = asyncio.create_task(app.asker.host_key(KEY))
        await settle(pilot)
        assert isinstance(app.focused, Button)
        assert app.focused.id == "cancel"
        await pilot.press("enter")
        assert await asked is False


async def test_trust_has_to_be_chosen() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        asked = asyncio.create_task(app.asker.host_key(KEY))
        await settle(pilot)
        await pilot.press("tab", "enter")
        assert await asked is True


async def test_a_question_taken_back_closes_its_dialog() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        base = app.screen
        asked = asyncio.create_task(app.asker.host_key(KEY))
        await settle(pilot)
        assert app.screen is not base
        asked.cancel()
        await settle(pilot)
        assert app.screen is base
