"""What is sent in one cell, and what is heard of it, whoever sends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from eagletui.model.base import Data
from eagletui.model.run import Sent
from eagletui.model.safe import safe

Endpoint = Literal["/v1/chat/completions", "/v1/completions", "/generate"]


class Load(Data, frozen=True):
    """The requests of one cell.

    Attributes:
        url: base of the server's address, as seen from where requests are sent.
        bodies: JSON of each request, in order.
        concurrency: how many may be under way at once.
        starts: seconds from the beginning at which each is sent; () for a closed loop.
        headers: an API key for one.
        first_s: seconds a request may go without its first token.
        gap_s: seconds it may go without the next one.
    """

    url: str
    endpoint: Endpoint
    bodies: tuple[bytes, ...]
    concurrency: int
    starts: tuple[float, ...] = ()
    headers: dict[str, str] = {}
    first_s: float = 600.0
    gap_s: float = 30.0

    def __repr__(self) -> str:
        """Without headers: a traceback may show it."""
        return f"Load({self.endpoint}, {len(self.bodies)} requests, c={self.concurrency})"

    @property
    def native(self) -> bool:
        """Whether it is SGLang's own `/generate`."""
        return self.endpoint == "/generate"


class Reply(Data, frozen=True):
    """One request that is over.

    Attributes:
        index: place among the bodies.
        gaps: microseconds between two arrivals and tokens of the second; 0 tokens where the
            server does not count while it streams.
        cached_tokens: prompt tokens that came from the prefix cache; None unknown.
        counted: whether the server counted tokens chunk by chunk.
        tail_bigrams: distinct pairs of words over all at the answer's end; None for a short one.
    """

    index: int
    sent: Sent
    gaps: tuple[tuple[int, int], ...] = ()
    cached_tokens: int | None = None
    counted: bool = True
    tail_bigrams: float | None = None


class Moving(Data, frozen=True):
    """How far a cell is: tokens so far, requests under way."""

    tokens: int
    running: int


Heard = Callable[["Reply | Moving"], None]


class Driver(Protocol):
    """Sends a load. Stopping keeps what came: requests under way end with the error `stopped`."""

    async def drive(self, load: Load, heard: Heard, stop: asyncio.Event) -> float:
        """Send it all; seconds from the first request's start to the last one's end.

        Raises:
            HostError: the connection was lost; what was heard until then is true.
        """
        ...


def reply_from(index: int, began: float, found: Mapping[str, Any]) -> Reply:
    """A stream meter's result as a reply; its words are made safe to show."""
    return Reply(
        index=index,
        gaps=tuple((int(gap), int(tokens)) for gap, tokens in found["gaps"]),
        cached_tokens=found["cached_tokens"],
        counted=bool(found["counted"]),
        tail_bigrams=found["tail_bigrams"],
        sent=Sent(
            began=began,
            ttft=found["ttft"],
            latency=found["latency"],
            prompt_tokens=found["prompt_tokens"],
            output_tokens=found["output_tokens"],
            verify_steps=found["verify_steps"],
            accepted=tuple(found["accepted"]),
            distinct_bigrams=found["distinct_bigrams"],
            error=safe(found["error"]),
        ),
    )
