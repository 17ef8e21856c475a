from __future__ import annotations

import asyncio

from eagletui.model.events import GpusUnavailable, LogText
from eagletui.monitor.backoff import delay
from eagletui.monitor.hub import HELD_BYTES, Hub
from eagletui.monitor.places import assign_places


def test_backoff_doubles_to_half_a_minute() -> None:
    assert [delay(n) for n in (1, 2, 3, 4, 5, 6, 7, 1000)] == [1, 2, 4, 8, 16, 30, 30, 30]


def test_a_restart_keeps_the_place() -> None:
    first = assign_places([(10, 30000)], {})
    assert first == {10: ":30000"}
    assert assign_places([(20, 30000)], first) == {20: ":30000"}


def test_a_second_process_on_the_port_gets_its_own_place_and_keeps_it() -> None:
    first = assign_places([(10, 30000)], {})
    both = assign_places([(10, 30000), (20, 30000), (30, 30001)], first)
    assert both == {10: ":30000", 20: ":30000#20", 30: ":30001"}
    assert assign_places([(20, 30000)], both) == {20: ":30000#20"}


async def test_the_hub_delivers_in_order_and_ends() -> None:
    hub = Hub()
    events = [GpusUnavailable(at=float(n), detail="") for n in range(5)]
    hub.put(*events[:3])
    hub.put(*events[3:])
    hub.close()
    assert [event async for batch in hub.batches() for event in batch] == events


async def test_a_flood_waits_for_its_reader_and_loses_nothing() -> None:
    hub = Hub()
    chunk = b"x" * (HELD_BYTES // 2 + 1)
    sent = 0

    async def produce() -> None:
        nonlocal sent
        for n in range(6):
            await hub.room()
            hub.put(LogText(at=0.0, server="s", start=n, data=chunk))
            sent = n + 1
        hub.close()

    producer = asyncio.ensure_future(produce())
    for _ in range(20):
        await asyncio.sleep(0)
    assert sent == 2
    starts = [e.start async for b in hub.batches() for e in b if isinstance(e, LogText)]
    await producer
    assert starts == [0, 1, 2, 3, 4, 5]
