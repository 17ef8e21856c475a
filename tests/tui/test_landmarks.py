"""One row a phase, however many ranks say it."""

from __future__ import annotations

from eagletui.model.logstore import LogStore
from eagletui.tui.screens.phases import landmarks_in

SAID = (
    "Init torch distributed begin.",
    "Load weight begin. avail mem=139.09 GB",
    "KV Cache is allocated. #tokens: 1",
    "Memory pool end. avail mem=9 GB",
    "Capture cuda graph begin. This can take up to several minutes.",
    "Load weight begin. avail mem=18.40 GB",
    "KV Cache is allocated. #tokens: 1",
    "Capture draft cuda graph begin. This can take up to several minutes.",
    "Capture draft extend cuda graph begin. This can take up to several minutes.",
)


async def test_eight_ranks_are_one_row_with_the_first_time() -> None:
    store = LogStore()
    for launch in range(2):
        store.append(f"[2026-01-20 0{launch}:00:00] server_args=ServerArgs(x)\n".encode())
        for minute, text in enumerate(SAID, 1):
            for rank in range(8):
                stamp = f"[2026-01-20 0{launch}:{minute:02d}:0{rank} TP{rank}]"
                store.append(f"{stamp} {text}\n".encode())
    found = await landmarks_in(store)
    assert [(row.time, row.title) for row in found[: len(found) // 2]] == [
        ("00:00:00", "arguments"),
        ("00:01:00", "distributed init"),
        ("00:02:00", "target weights"),
        ("00:03:00", "kv cache"),
        ("00:05:00", "target graphs"),
        ("00:06:00", "draft weights"),
        ("00:08:00", "draft graphs"),
        ("00:09:00", "draft extend graphs"),
    ]
    assert [row.title for row in found[8:]] == [row.title for row in found[:8]]
    assert store.line(found[3].number).startswith(b"[2026-01-20 00:03:00 TP0] KV Cache")
