"""How long a look for scripts stays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import cast

import pytest

from eagletui.model import events as ev
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.readings import Rates, Reading
from eagletui.model.server import ServerProcess
from eagletui.monitor.look import WINDOW, look
from eagletui.monitor.monitor import Monitor

KEYS = (":30000", ":30001")


class Clocked:
    """A monitor whose selected server answers, or fails to, every second of its own clock."""

    refusal = None

    def __init__(self, *, fails: bool = False) -> None:
        self.now = 0.0
        self.selected = ""
        self.seen: list[str] = []
        self._fails = fails

    def select(self, server: str) -> None:
        self.selected = server

    def caught_up(self, server: str) -> bool:
        return server == self.selected

    async def events(self) -> AsyncIterator[Sequence[ev.Event]]:
        servers = tuple(ServerProcess(key=key, url=f"http://127.0.0.1{key}") for key in KEYS)
        yield [
            ev.LinkChanged(at=0.0, link="connected"),
            ev.GpusUnavailable(at=0.0, detail=""),
            ev.ServersFound(at=0.0, servers=servers),
        ]
        while True:
            self.seen.append(self.selected)
            yield [self._answer(), self._alerts()]
            self.now += 1.0

    def _answer(self) -> ev.Event:
        if self._fails:
            return ev.ScrapeFailed(at=self.now, server=self.selected, problem="timeout", detail="")
        return ev.Scraped(
            at=self.now,
            server=self.selected,
            reading=Reading(at=self.now),
            rates=Rates(),
            took=0.0,
        )

    def _alerts(self) -> ev.Event:
        lasting = Diagnosis(code="kv-full", severity="warning", title="")
        alerts = (lasting,) if self.seen.count(self.selected) > 10 else ()
        return ev.Alerted(at=self.now, server=self.selected, alerts=alerts)


@pytest.mark.parametrize(
    ("fails", "stay", "scrapes"),
    [(False, 0.0, int(WINDOW) + 2), (True, 0.0, 1), (False, 12.0, 13), (True, 12.0, 13)],
)
async def test_each_server_is_watched_as_long_as_was_asked(
    monkeypatch: pytest.MonkeyPatch, fails: bool, stay: float, scrapes: int
) -> None:
    monitor = Clocked(fails=fails)
    monkeypatch.setattr("eagletui.monitor.look.time.monotonic", lambda: monitor.now)
    state = await look(cast(Monitor, monitor), stay=stay)
    assert [monitor.seen.count(key) for key in KEYS] == [scrapes, scrapes]
    seen = {key: [alert.code for alert in state.servers[key].alerts] for key in KEYS}
    assert seen == dict.fromkeys(KEYS, ["kv-full"] if stay else [])
