"""Recordings as readings."""

from __future__ import annotations

import lzma
from pathlib import Path

from eagletui.engine.metrics import MetricsReader
from eagletui.engine.scrapes import split_scrapes
from eagletui.model.readings import Reading

RECORDINGS = Path(__file__).parent.parent / "recordings"


def unpacked(name: str) -> bytes:
    return lzma.decompress((RECORDINGS / f"{name}.xz").read_bytes())


def readings(name: str) -> list[Reading]:
    reader = MetricsReader()
    return [reader.read(s.body, at=s.at or 0.0) for s in split_scrapes(unpacked(name))]
