"""A benchmarker without a host: what it tells is given, what it was asked is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from msgspec.structs import replace

from eagletui.model.benchmarking import CellLine, Moment, Subject, Under, Wish
from tests.tui.scenes import NOW

WHOLE = CellLine(
    concurrency=1,
    repeat=0,
    tok_s=94.04,
    tok_s_each=94.9,
    accept_length=2.104,
    ttft_p50=182.4,
    ttft_p99=240.0,
    tpot_p50=10.52,
    tpot_p99=11.31,
    verify_ms=19.87,
    step_ms=22.1,
    joules=31.4,
)
LOOPED = CellLine(
    concurrency=8,
    repeat=0,
    tok_s=512.3,
    tok_s_each=66.1,
    accept_length=3.87,
    ttft_p50=311.0,
    ttft_p99=702.0,
    tpot_p50=14.9,
    tpot_p99=17.0,
    step_ms=27.3,
    failed=1,
    stopped="looped",
    why="9 of 16 outputs loop: at their end 0.02 to 0.11 of the pairs of words are distinct.",
    warnings=("1 request failed: no connection",),
)


class FakeBenchmarker:
    """A test moves its benchmark by `tell`; the last one says that it is over."""

    def __init__(self) -> None:
        self.wishes: list[tuple[Wish, Subject]] = []
        self.cancelled = 0
        self.left = 0
        self._moments: asyncio.Queue[Moment] = asyncio.Queue()
        self.moment: Moment | None = None

    async def begin(self, wish: Wish, subject: Subject) -> AsyncGenerator[Moment, None]:
        """Moments as the test tells them."""
        self.wishes.append((wish, subject))
        self.moment = Moment(wish=wish, subject=subject, began=NOW - 95, at=NOW)
        try:
            while True:
                moment = await self._moments.get()
                yield moment
                if moment.over:
                    return
        finally:
            self.left += 1

    def cancel(self) -> None:
        """Remember."""
        self.cancelled += 1

    def tell(self, **changes: object) -> None:
        """The benchmark stands here now."""
        assert self.moment is not None
        self.moment = replace(self.moment, **changes)
        self._moments.put_nowait(self.moment)


def under(number: int = 2, concurrency: int = 8, **changes: object) -> Under:
    """A cell under way."""
    fields: dict[str, object] = {
        "number": number,
        "concurrency": concurrency,
        "repeat": 0,
        "done": 12,
        "requests": 32,
        "tok_s": 310.4,
        "remaining": 251.0,
        **changes,
    }
    return Under(**fields)  # type: ignore[arg-type]
