"""Everything that can happen on a host, small and typed.

`at` is the user's clock, seconds since the epoch: when the fact arrived, or, for log lines older
than the connection, the moment their stamp names. `server` is a `ServerProcess.key`. `stamp` is
log time: what the host's clock wrote, read as if it were UTC.
"""

from __future__ import annotations

from typing import Any, Literal, Union

import msgspec

from eagletui.model.diagnosis import Diagnosis
from eagletui.model.phases import PhaseExperience, PhaseName, Role
from eagletui.model.readings import Rates, Reading
from eagletui.model.server import Gpu, LogPlace, ServerProcess
from eagletui.model.speculative import Speculative


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    at: float


class _ServerEvent(_Event, frozen=True, kw_only=True, tag=True):
    server: str


# --- the connection and the host -------------------------------------------------------------

Link = Literal["connecting", "connected", "lost", "failed", "closed"]


class LinkChanged(_Event, frozen=True, kw_only=True, tag=True):
    """The connection to the host came, went or could not be made.

    `detail`, `meaning` and `advice` are the words of the error; `retry_at` is when the next try
    is due.
    """

    link: Link
    detail: str = ""
    meaning: str = ""
    advice: str = ""
    attempt: int = 0
    retry_at: float | None = None


class HostSeen(_Event, frozen=True, kw_only=True, tag=True):
    """Facts of the host, read once per connection.

    `clock_offset` is the user's clock minus the host's, seconds; `utc_offset` the host's zone;
    `round_trip` seconds for one small command.
    """

    name: str
    address: str = ""
    user: str = ""
    kernel: str = ""
    boot_id: str = ""
    clock_offset: float = 0.0
    utc_offset: float = 0.0
    round_trip: float | None = None


class GpusRead(_Event, frozen=True, kw_only=True, tag=True):
    gpus: tuple[Gpu, ...]


class GpusUnavailable(_Event, frozen=True, kw_only=True, tag=True):
    detail: str


class StartedOver(_Event, frozen=True, kw_only=True, tag=True):
    """Nothing that came before counts any more: a replay went back to its beginning."""


# --- servers ---------------------------------------------------------------------------------


class ServersFound(_Event, frozen=True, kw_only=True, tag=True):
    """The complete list of one look; whoever is missing from it is gone."""

    servers: tuple[ServerProcess, ...]
    looked_at: tuple[str, ...] = ()


class ServerGone(_ServerEvent, frozen=True, kw_only=True, tag=True):
    """The server's main process is no longer there."""


class ServerSelected(_ServerEvent, frozen=True, kw_only=True, tag=True):
    """The server whose log and metrics are followed from now on."""


class ExperienceLoaded(_ServerEvent, frozen=True, kw_only=True, tag=True):
    """What earlier launches took, by `Rung.key`."""

    phases: dict[str, PhaseExperience]


# --- the log ---------------------------------------------------------------------------------


class LogOpened(_ServerEvent, frozen=True, kw_only=True, tag=True):
    place: LogPlace
    size: int | None = None


class LogText(_ServerEvent, frozen=True, kw_only=True, tag=True):
    """Bytes of the log as they are, in order; `start` is the offset of the first byte in the file.

    `live` is False while catching up with what was written before we came. Nothing, live, says that
    the end was reached.
    """

    start: int
    data: bytes
    live: bool = True


GapReason = Literal["rotated", "truncated", "replaced", "skipped", "lost"]


class LogGap(_ServerEvent, frozen=True, kw_only=True, tag=True):
    """The text before and after is not adjacent: rotated, truncated, replaced or skipped bytes."""

    reason: GapReason
    skipped: int | None = None
    detail: str = ""


class LogUnavailable(_ServerEvent, frozen=True, kw_only=True, tag=True):
    detail: str
    advice: str = ""


class LaunchBegan(_ServerEvent, frozen=True, kw_only=True, tag=True):
    """A new launch begins in the log; what was known of an earlier one in the same log is over.

    `ladder` holds the phases this release goes through, in order, as (name, role).
    """

    stamp: float | None = None
    version: str = ""
    ladder: tuple[tuple[PhaseName, Role], ...] = ()
    args: dict[str, Any] = {}
    speculative: Speculative = Speculative()


class LadderPlanned(_ServerEvent, frozen=True, kw_only=True, tag=True):
    """The ladder became clearer (speculation, graphs off); rungs already begun stay."""

    ladder: tuple[tuple[PhaseName, Role], ...]


class PhaseBegan(_ServerEvent, frozen=True, kw_only=True, tag=True):
    name: PhaseName
    role: Role = ""
    rank: str = ""
    stamp: float | None = None
    total: int | None = None
    detail: str = ""


class PhaseMoved(_ServerEvent, frozen=True, kw_only=True, tag=True):
    """A bar advanced. `elapsed` is the bar's own clock, seconds since it began."""

    name: PhaseName
    role: Role = ""
    rank: str = ""
    done: int
    total: int
    elapsed: float | None = None
    detail: str = ""


class PhaseEnded(_ServerEvent, frozen=True, kw_only=True, tag=True):
    """`seconds` is the server's own figure where the line has one."""

    name: PhaseName
    role: Role = ""
    rank: str = ""
    stamp: float | None = None
    seconds: float | None = None
    detail: str = ""


class ServerReady(_ServerEvent, frozen=True, kw_only=True, tag=True):
    stamp: float | None = None
    seconds: float | None = None


class DecodeSample(_ServerEvent, frozen=True, kw_only=True, tag=True):
    """One `Decode batch` line. `step_ms` is derived: running × accept length / throughput.

    `first` marks the first line after idle, whose throughput counts the idle time.
    """

    stamp: float | None = None
    rank: str = ""
    running: int | None = None
    queued: int | None = None
    accept_length: float | None = None
    accept_rate: float | None = None
    gen_throughput: float | None = None
    token_usage: float | None = None
    graph: bool | None = None
    step_ms: float | None = None
    first: bool = False


class PrefillSample(_ServerEvent, frozen=True, kw_only=True, tag=True):
    stamp: float | None = None
    rank: str = ""
    new_tokens: int | None = None
    cached_tokens: int | None = None
    running: int | None = None
    queued: int | None = None
    token_usage: float | None = None


class StepsChanged(_ServerEvent, frozen=True, kw_only=True, tag=True):
    """Adaptive speculation chose another k (log line or `spec_num_steps` gauge)."""

    stamp: float | None = None
    num_steps: int
    num_draft_tokens: int | None = None


class Diagnosed(_ServerEvent, frozen=True, kw_only=True, tag=True):
    """Something in the log has a name. `ended` says that the launch is over because of it."""

    diagnosis: Diagnosis
    ended: bool = False
    stamp: float | None = None


# --- HTTP ------------------------------------------------------------------------------------

ScrapeProblem = Literal[
    "refused",
    "unreachable",
    "timeout",
    "unauthorised",
    "not found",
    "not metrics",
    "too large",
    "truncated",
    "server error",
    "closed",
]


class Scraped(_ServerEvent, frozen=True, kw_only=True, tag=True):
    reading: Reading
    rates: Rates
    took: float = 0.0


class ScrapeFailed(_ServerEvent, frozen=True, kw_only=True, tag=True):
    problem: ScrapeProblem
    detail: str = ""
    advice: str = ""
    status: int | None = None


class InfoRead(_ServerEvent, frozen=True, kw_only=True, tag=True):
    """`/server_info`: resolved arguments (masked), version, speculation as it really runs.

    `speculative` is None where the reply says nothing about it.
    """

    version: str = ""
    args: dict[str, Any] = {}
    speculative: Speculative | None = None


class Alerted(_ServerEvent, frozen=True, kw_only=True, tag=True):
    """The complete list of live verdicts at this moment (deadlocked, draft useless, stalled, …)."""

    alerts: tuple[Diagnosis, ...]


Event = Union[  # noqa: UP007 - a runtime value: recordings decode it as a tagged union
    LinkChanged,
    HostSeen,
    GpusRead,
    GpusUnavailable,
    StartedOver,
    ServersFound,
    ServerGone,
    ServerSelected,
    ExperienceLoaded,
    LogOpened,
    LogText,
    LogGap,
    LogUnavailable,
    LaunchBegan,
    LadderPlanned,
    PhaseBegan,
    PhaseMoved,
    PhaseEnded,
    ServerReady,
    DecodeSample,
    PrefillSample,
    StepsChanged,
    Diagnosed,
    Scraped,
    ScrapeFailed,
    InfoRead,
    Alerted,
]
