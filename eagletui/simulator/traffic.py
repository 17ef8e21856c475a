"""Who asks a simulated server: users that come and go, as a table of spans."""

from __future__ import annotations

from typing import NamedTuple

from eagletui.model.base import Data


class Span(NamedTuple):
    """For `seconds`, this many requests are kept in flight."""

    seconds: float
    users: int


class Traffic(Data, frozen=True):
    """A cycle of spans, and what the requests look like (tokens, from–to)."""

    spans: tuple[Span, ...]
    prompt: tuple[int, int] = (120, 900)
    output: tuple[int, int] = (500, 1400)
    cached: float = 0.3
    """The share of a prompt that the prefix cache knows."""

    def users(self, at: float) -> int:
        """How many are there, `at` seconds after the server was ready."""
        at %= sum(span.seconds for span in self.spans)
        for span in self.spans:
            if at < span.seconds:
                return span.users
            at -= span.seconds
        return self.spans[-1].users

    def next_change(self, at: float) -> float:
        """When the number of users changes next."""
        cycle = sum(span.seconds for span in self.spans)
        begun = at - at % cycle
        for span in self.spans:
            begun += span.seconds
            if begun > at:
                return begun
        return begun


def steady(users: int) -> Traffic:
    """The same number of users for ever."""
    return Traffic(spans=(Span(3600.0, users),))


LIVELY = Traffic(
    spans=(
        Span(40.0, 1),
        Span(25.0, 4),
        Span(26.0, 0),
        Span(35.0, 1),
        Span(30.0, 8),
        Span(20.0, 2),
        Span(22.0, 0),
    ),
    output=(200, 700),
)
