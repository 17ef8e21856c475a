"""One launch as its log tells it: from the arguments over the ladder to ready."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from eagletui.engine import ladder as lad
from eagletui.engine.arguments import read_arguments, speculative_of
from eagletui.engine.ladder import Ladder, Step
from eagletui.engine.logline import Bar, Record
from eagletui.engine.releases import Range, releases_of_arguments
from eagletui.model import events as ev
from eagletui.model.safe import safe
from eagletui.model.speculative import Speculative

READY = "The server is fired up and ready to roll!"
# The first line of the launcher's own that a log may hold comes this long before the arguments.
LONGEST_BEFORE_ARGUMENTS = 600.0

_ELAPSED = re.compile(r"(?:elapsed=|Time elapsed: )([\d.]+) ?s")
_SIZES = re.compile(r"bs=? ?\[([\d, ]+)\]")
_TYPE = re.compile(r"type=(\w+)")
_GRAPH = re.compile(
    r"Capture (.*?)(?:cuda|cpu|npu|xpu|hip|musa) graph (begin|end|bs)", re.IGNORECASE
)
_LABEL = re.compile(r"^[^(]*")

# What stands between `Capture` and `CUDA graph` → phase; first match wins.
GRAPH_STEPS: tuple[tuple[str, Step], ...] = (
    ("draft extend", ("extend graphs", "draft")),
    ("draft prefill", ("prefill graphs", "draft")),
    ("draft", ("graphs", "draft")),
    ("piecewise", ("prefill graphs", "target")),
    ("prefill", ("prefill graphs", "target")),
    ("", ("graphs", "target")),
)
DISTRIBUTED: Step = ("distributed init", "")
TARGET: Step = ("weights", "target")
DRAFT: Step = ("weights", "draft")
KV: Step = ("kv cache", "")
DRAFT_KV: Step = ("kv cache", "draft")
WARM_UP: Step = ("warm-up", "")


class Moment(NamedTuple):
    """When and for whom something was read."""

    server: str
    at: float
    stamp: float | None


class Launch:
    """Turns the messages of one launch into phase events.

    Attributes:
        first: log time of the launch's first line.
        ready: whether the ready line was seen.
        serving: whether batches were decoded.
        ended: whether a verdict said that the launch is over.
    """

    def __init__(self, first: float | None = None) -> None:
        self.first = first
        self.args: dict[str, Any] = {}
        self.speculative = Speculative()
        self.releases = Range()
        self.ready = False
        self.serving = False
        self.ended = False
        self.ladder: Ladder = lad.plan(Speculative(), {}, Range())
        self.announced = False
        self._begun: list[Step] = []
        self._open: dict[tuple[Step, str], float | None] = {}
        self._closed: set[tuple[Step, str]] = set()
        self._loads: dict[str, int] = {}
        self._pools: dict[str, int] = {}
        self._pool_detail = ""
        self._graph: Step | None = None
        self._bars: dict[Step, tuple[str, int, int]] = {}
        self._summed_up = False

    @property
    def running(self) -> Step | None:
        """The phase that was begun last and is not over."""
        for step in reversed(self._begun):
            if any(open_step == step for open_step, _ in self._open):
                return step
        return None

    @property
    def wants_bars(self) -> bool:
        """Whether a progress bar can still mean anything."""
        return not (self.ready or self.serving or self.ended)

    # --- what the log says -----------------------------------------------------------------

    def announce(self, now: Moment) -> Iterator[ev.Event]:
        """The launch itself, once, with whatever is known of it."""
        if self.announced:
            return
        self.announced = True
        yield ev.LaunchBegan(
            at=now.at,
            server=now.server,
            stamp=self.first,
            ladder=self.ladder,
            args=self.args,
            speculative=self.speculative,
        )

    def arguments(self, text: str, now: Moment) -> Iterator[ev.Event]:
        """`server_args=…`."""
        self.args = read_arguments(text)
        self.speculative = speculative_of(self.args)
        self.releases = self.releases.narrowed(releases_of_arguments(self.args))
        self.ladder = lad.plan(self.speculative, self.args, self.releases)
        late = (
            self.first is not None
            and now.stamp is not None
            and not 0 <= now.stamp - self.first <= LONGEST_BEFORE_ARGUMENTS
        )
        if self.first is None or late:
            self.first = now.stamp
        yield from self.announce(now)
        yield from self._begin(("arguments", ""), "", now._replace(stamp=self.first))
        yield from self._end(("arguments", ""), "", now)

    def learn(self, releases: Range, now: Moment) -> Iterator[ev.Event]:
        """The log turned out to come from these releases: their ladder may be another."""
        if releases == self.releases:
            return
        self.releases = releases
        if not self.announced or self._summed_up:
            return
        planned = lad.plan(self.speculative, self.args, releases)
        if set(planned) != set(self.ladder) and set(self._begun) <= set(planned):
            self.ladder = planned
            yield ev.LadderPlanned(at=now.at, server=now.server, ladder=planned)

    def message(self, record: Record, now: Moment) -> Iterator[ev.Event]:
        """Any other message; most say nothing about phases."""
        text = record.text
        for start, handler in _HANDLERS:
            if text.startswith(start):
                yield from handler(self, record, now)
                return

    def bar(self, bar: Bar, now: Moment) -> Iterator[ev.Event]:
        """A progress bar. Its last state is not the end of its phase."""
        if not self.wants_bars:
            return
        step = self._step_of(bar)
        if step is None:
            return
        label = _LABEL.match(bar.text)
        name = label[0].strip() if label else ""
        before = self._bars.get(step)
        if before is not None:
            same = before[2] == bar.total and (not name or not before[0] or name == before[0])
            # Some collectors show the newest line first: within one bar the count only grows.
            if same and bar.done <= before[1]:
                return
        self._bars[step] = (name, bar.done, bar.total)
        if not any(open_step == step for open_step, _ in self._open):
            yield from self._begin(step, "", now)
        yield ev.PhaseMoved(
            at=now.at,
            server=now.server,
            name=step[0],
            role=step[1],
            done=bar.done,
            total=bar.total,
            elapsed=bar.elapsed,
            detail=safe(bar.text[:400])[:120],
        )

    def _step_of(self, bar: Bar) -> Step | None:
        if self._graph is not None:
            return self._graph
        loading = sorted((rank, step) for step, rank in self._open if step[0] == "weights")
        if loading:
            return loading[0][1]
        if any(step == WARM_UP for step, _ in self._open):
            return WARM_UP
        if "shards" in bar.text and TARGET not in {step for step, _ in self._closed}:
            return TARGET
        return None

    # --- one handler for each kind of line -------------------------------------------------

    def _distributed(self, record: Record, now: Moment) -> Iterator[ev.Event]:
        if (DISTRIBUTED, record.rank) in self._closed:
            return  # the draft worker initialises again
        if " begin" in record.text:
            yield from self._begin(DISTRIBUTED, record.rank, now)
        else:
            yield from self._end(DISTRIBUTED, record.rank, now, seconds=_seconds(record.text))

    def _load_begins(self, record: Record, now: Moment) -> Iterator[ev.Event]:
        count = self._loads[record.rank] = self._loads.get(record.rank, 0) + 1
        step = TARGET if count == 1 else DRAFT
        if step == DRAFT and (KV, record.rank) in self._open:
            # Without the arguments nothing told that a draft would come.
            yield from self._end(KV, record.rank, now)
            self._closed.discard((KV, record.rank))
        yield from self._begin(step, record.rank, now)

    def _load_ends(self, record: Record, now: Moment) -> Iterator[ev.Event]:
        step = DRAFT if self._loads.get(record.rank, 1) > 1 else TARGET
        kind = _TYPE.search(record.text)
        yield from self._end(
            step,
            record.rank,
            now,
            seconds=_seconds(record.text),
            detail=kind[1] if kind else "",
        )
        follows = self._kv_after(step)
        if follows is not None and (follows, record.rank) not in self._closed:
            yield from self._begin(follows, record.rank, now)

    def _kv_after(self, loaded: Step) -> Step | None:
        """The KV phase that begins when these weights are there."""
        order = list(self.ladder)
        if loaded == TARGET:
            waits = DRAFT in order and KV in order and order.index(DRAFT) < order.index(KV)
            return None if waits else KV
        return DRAFT_KV if DRAFT_KV in order else KV

    def _pool_allocated(self, record: Record, now: Moment) -> Iterator[ev.Event]:  # noqa: ARG002
        _, _, detail = record.text.partition("llocated. ")
        if not self._pool_detail:
            self._pool_detail = safe(detail.strip()[:400])[:200]
        yield from ()

    def _pool_ends(self, record: Record, now: Moment) -> Iterator[ev.Event]:
        count = self._pools[record.rank] = self._pools.get(record.rank, 0) + 1
        step = KV
        if count > 1 and DRAFT_KV in self.ladder:
            step = DRAFT_KV
        elif count == 1 and DRAFT in self.ladder and DRAFT_KV not in self.ladder:
            return  # the draft's pool follows at once and ends the phase
        detail, self._pool_detail = self._pool_detail, ""
        yield from self._end(step, record.rank, now, detail=detail)

    def _capture(self, record: Record, now: Moment) -> Iterator[ev.Event]:
        match = _GRAPH.match(record.text)
        if match is None:
            return
        kind = match[1].lower()
        step = next(step for name, step in GRAPH_STEPS if name in kind)
        if match[2].lower() == "end":
            yield from self._end(step, record.rank, now, seconds=_seconds(record.text))
            if not any(open_step == step for open_step, _ in self._open):
                self._graph = None
            return
        sizes = _SIZES.search(record.text)
        total = len(sizes[1].split(",")) if sizes else None
        yield from self._pools_are_over(record.rank, now)
        self._graph = step
        if match[2].lower() == "begin":
            yield from self._begin(step, record.rank, now, total=total)

    def _pools_are_over(self, rank: str, now: Moment) -> Iterator[ev.Event]:
        for step in (KV, DRAFT_KV):
            if (step, rank) in self._open:
                detail, self._pool_detail = self._pool_detail, ""
                yield from self._end(step, rank, now, detail=detail)

    def _scheduler_is_up(self, record: Record, now: Moment) -> Iterator[ev.Event]:
        """`max_total_num_tokens=…`: what was not begun by now does not come any more."""
        yield from self._pools_are_over(record.rank, now)
        self._graph = None
        if self._summed_up:
            return
        self._summed_up = True
        shorter = lad.without_pending(self.ladder, self._begun)
        if shorter != self.ladder and self._begun:
            self.ladder = shorter
            yield ev.LadderPlanned(at=now.at, server=now.server, ladder=shorter)

    def _http_is_up(self, record: Record, now: Moment) -> Iterator[ev.Event]:
        if "Uvicorn running on" in record.text:
            yield from self._begin(WARM_UP, "", now)

    def _is_ready(self, record: Record, now: Moment) -> Iterator[ev.Event]:  # noqa: ARG002
        for step, rank in list(self._open):
            yield from self._end(step, rank, now)
        self.ready = True
        seconds = (
            max(0.0, now.stamp - self.first)
            if now.stamp is not None and self.first is not None
            else None
        )
        yield ev.ServerReady(at=now.at, server=now.server, stamp=now.stamp, seconds=seconds)

    # --- beginnings and ends ---------------------------------------------------------------

    def _begin(
        self, step: Step, rank: str, now: Moment, total: int | None = None
    ) -> Iterator[ev.Event]:
        yield from self.announce(now)
        if (step, rank) in self._open:
            return
        if step not in self.ladder:
            self.ladder = lad.with_step(self.ladder, step, self._begun[-1] if self._begun else None)
            yield ev.LadderPlanned(at=now.at, server=now.server, ladder=self.ladder)
        if step not in self._begun:
            self._begun.append(step)
        if not any(open_step == step for open_step, _ in self._open):
            self._bars.pop(step, None)
        self._open[step, rank] = now.stamp
        yield ev.PhaseBegan(
            at=now.at,
            server=now.server,
            name=step[0],
            role=step[1],
            rank=rank,
            stamp=now.stamp,
            total=total,
        )

    def _end(
        self, step: Step, rank: str, now: Moment, *, seconds: float | None = None, detail: str = ""
    ) -> Iterator[ev.Event]:
        if (step, rank) not in self._open:
            yield from self._begin(step, rank, now)
        begun = self._open.pop((step, rank), None)
        self._closed.add((step, rank))
        if seconds is None and now.stamp is not None and begun is not None:
            seconds = max(0.0, now.stamp - begun)
        yield ev.PhaseEnded(
            at=now.at,
            server=now.server,
            name=step[0],
            role=step[1],
            rank=rank,
            stamp=now.stamp,
            seconds=seconds,
            detail=detail,
        )


def _seconds(text: str) -> float | None:
    match = _ELAPSED.search(text)
    try:
        return float(match[1]) if match else None
    except ValueError:
        return None


_Handler = Callable[[Launch, Record, Moment], Iterator[ev.Event]]
# How a message begins → what it does. SGLang 0.4.6 to 0.5.23.
_HANDLERS: tuple[tuple[str, _Handler], ...] = (
    ("Init torch distributed ", Launch._distributed),
    ("Init parallel ", Launch._distributed),
    ("Load weight begin", Launch._load_begins),
    ("Load weight end", Launch._load_ends),
    ("KV Cache is allocated", Launch._pool_allocated),
    ("Full KV Cache ", Launch._pool_allocated),
    ("SWA KV Cache ", Launch._pool_allocated),
    ("Mamba Cache is allocated", Launch._pool_allocated),
    ("Memory pool end", Launch._pool_ends),
    ("Capture ", Launch._capture),
    ("max_total_num_tokens=", Launch._scheduler_is_up),
    ("INFO:     Uvicorn running", Launch._http_is_up),
    ("INFO:     Started server process", Launch._scheduler_is_up),
    (READY, Launch._is_ready),
)
PHASE_STARTS: tuple[str, ...] = tuple(start for start, _ in _HANDLERS)
