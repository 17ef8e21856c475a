"""The `/generate` replies of the H200 and what `recordings` say of them, row by row."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "recordings" / "replies"


class Row(NamedTuple):
    """One row of the table that came with the recordings: batch 1, temperature 1."""

    file: str
    k: int
    step_ms: float
    tok_s: float
    accept_length: float
    histogram: tuple[int, ...]


TABLE = (
    Row("dense_k0_c1", 0, 4.65, 215.0, 1.0, ()),
    Row("dense_k1_c1", 1, 5.88, 270.6, 1.59, (1056, 1519)),
    Row("dense_k2_c1", 2, 6.13, 319.0, 1.95, (848, 493, 754)),
    Row("dense_k3_c1", 3, 6.31, 344.2, 2.17, (750, 453, 294, 390)),
    Row("spec5_t1", 5, 6.76, 345.3, 2.33, (1450, 843, 493, 278, 197, 249)),
    Row("dense_k7_c1", 7, 7.16, 342.4, 2.45, (686, 379, 217, 156, 101, 65, 52, 16)),
)


def replies_text(name: str) -> str:
    """The file as it was written."""
    return lzma.decompress((FOLDER / f"{name}.jsonl.xz").read_bytes()).decode()


def replies(name: str) -> list[dict[str, Any]]:
    """The replies of one file."""
    return [json.loads(line) for line in replies_text(name).splitlines()]
