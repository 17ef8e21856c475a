"""What is true now, folded from events. Nothing else holds truth.

`fold(state, event)` is pure and total: any event in any order gives a state, never an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from eagletui.model import events as ev
from eagletui.model.base import Data
from eagletui.model.diagnosis import SEVERITY_ORDER, Diagnosis
from eagletui.model.phases import PhaseExperience, PhaseName, Role, Rung
from eagletui.model.readings import Rates, Reading
from eagletui.model.server import Gpu, LogPlace, ServerProcess
from eagletui.model.speculative import Speculative

MAX_DIAGNOSES = 50
EARLY = 1.0
"""Seconds by which a launch's first words may seem to come before its process: stamps are whole."""


class LogState(Data, frozen=True):
    """Where the log is and how much of it was seen.

    Attributes:
        read_at: user's clock when its end was reached last: what stood still before that, nobody
            here saw standing still.
    """

    place: LogPlace | None = None
    size: int | None = None
    received: int = 0
    last_at: float | None = None
    live: bool = False
    read_at: float | None = None
    detail: str = ""
    advice: str = ""


class MetricsState(Data, frozen=True):
    """The last good scrape and what went wrong since."""

    at: float | None = None
    reading: Reading | None = None
    rates: Rates | None = None
    took: float = 0.0
    problem: ev.ScrapeFailed | None = None
    failures: int = 0


class ServerState(Data, frozen=True):
    """One server.

    Attributes:
        ladder: phases of the current launch in order.
        launched: log time of the launch's first line; `told_at` is when the log told of the launch,
            on the user's clock.
        ready: whether the ready line or an answer proved it.
        ready_after: seconds from the first line to ready, log time.
        gone_at: when the process was found missing, user's clock.
        ended: whether the log says that the launch is over.
        progress_at: user's clock when a token was last seen to move.
        restarts: how many launches were seen in this log, less one.
    """

    process: ServerProcess
    version: str = ""
    args: dict[str, Any] = {}
    speculative: Speculative = Speculative()
    ladder: tuple[Rung, ...] = ()
    experience: dict[str, PhaseExperience] = {}
    launched: float | None = None
    told_at: float | None = None
    ready: bool = False
    ready_after: float | None = None
    ended: bool = False
    gone_at: float | None = None
    log: LogState = LogState()
    metrics: MetricsState = MetricsState()
    decode: ev.DecodeSample | None = None
    prefill: ev.PrefillSample | None = None
    progress_at: float | None = None
    diagnoses: tuple[Diagnosis, ...] = ()
    alerts: tuple[Diagnosis, ...] = ()
    restarts: int = 0

    @property
    def phase(self) -> Rung | None:
        """The rung being climbed, or the last one reached."""
        running = [rung for rung in self.ladder if rung.status in ("running", "failed")]
        if running:
            return running[-1]
        done = [rung for rung in self.ladder if rung.status == "done"]
        return done[-1] if done else None

    @property
    def alive(self) -> bool:
        """Whether the process is there, as far as is known."""
        return self.gone_at is None and not self.ended

    @property
    def verdicts(self) -> tuple[Diagnosis, ...]:
        """Everything worth saying now, worst first."""
        return tuple(
            sorted((*self.alerts, *self.diagnoses), key=lambda d: SEVERITY_ORDER[d.severity])
        )


class State(Data, frozen=True):
    """A host and its servers."""

    link: ev.LinkChanged | None = None
    host: ev.HostSeen | None = None
    servers: dict[str, ServerState] = {}
    looked_at: tuple[str, ...] = ()
    looked: bool = False
    selected: str = ""
    gpus: tuple[Gpu, ...] = ()
    gpus_at: float | None = None
    gpus_detail: str = ""

    @property
    def connected(self) -> bool:
        """Whether the connection stands."""
        return self.link is not None and self.link.link == "connected"

    @property
    def server(self) -> ServerState | None:
        """The selected server."""
        return self.servers.get(self.selected)


def fold(state: State, event: ev.Event) -> State:
    """The state after one more event."""
    handler = _HOST_HANDLERS.get(type(event))
    if handler is not None:
        return handler(state, event)
    server_handler = _SERVER_HANDLERS.get(type(event))
    if server_handler is None:
        return state
    key: str = event.server  # type: ignore[union-attr]
    before = state.servers.get(key) or ServerState(process=ServerProcess(key=key))
    after = server_handler(before, event)
    if after is before and key in state.servers:
        return state
    return replace(state, servers={**state.servers, key: after})


def fold_all(state: State, events: Iterable[ev.Event]) -> State:
    """`fold` over many events."""
    for event in events:
        state = fold(state, event)
    return state


# --- the host --------------------------------------------------------------------------------


def _started_over(state: State, event: ev.StartedOver) -> State:  # noqa: ARG001
    return State()


def _link(state: State, event: ev.LinkChanged) -> State:
    return replace(state, link=event)


def _host(state: State, event: ev.HostSeen) -> State:
    return replace(state, host=event)


def _gpus(state: State, event: ev.GpusRead) -> State:
    return replace(state, gpus=event.gpus, gpus_at=event.at, gpus_detail="")


def _no_gpus(state: State, event: ev.GpusUnavailable) -> State:
    return replace(state, gpus=(), gpus_detail=event.detail)


def _found(state: State, event: ev.ServersFound) -> State:
    servers = dict(state.servers)
    seen = {process.key for process in event.servers}
    for process in event.servers:
        before = servers.get(process.key)
        if before is None:
            servers[process.key] = ServerState(
                process=process, version=process.version, speculative=process.speculative
            )
        elif _is_another(before.process, process):
            servers[process.key] = _succeeded(before, process)
        elif before.process != process or before.gone_at is not None:
            servers[process.key] = replace(
                before,
                process=process,
                version=before.version or process.version,
                gone_at=None,
            )
    for key, server in servers.items():
        if key not in seen and server.gone_at is None and server.process.pid is not None:
            servers[key] = replace(server, gone_at=event.at)
    return replace(state, servers=servers, looked=True, looked_at=event.looked_at)


def _is_another(before: ServerProcess, now: ServerProcess) -> bool:
    """Whether another process took this place; a pid that is used again is another process."""
    if before.pid != now.pid:
        return True
    return None not in (before.started_at, now.started_at) and before.started_at != now.started_at


def _succeeded(before: ServerState, process: ServerProcess) -> ServerState:
    """A new process took the place of one that was here: a new launch, of which nothing is known.

    Where both write to the same log, the new launch may have been read before its process was
    noticed: then what the log said of it stays.
    """
    same_log = before.process.log == process.log and process.log.readable
    if same_log and _is_told_of(before, process):
        return replace(before, process=process, gone_at=None, metrics=MetricsState())
    return ServerState(
        process=process,
        version=process.version,
        speculative=process.speculative,
        experience=before.experience,
        log=before.log if same_log else LogState(),
        restarts=before.restarts + (before.process.pid is not None),
    )


def _is_told_of(before: ServerState, process: ServerProcess) -> bool:
    """Whether the last launch that the log told of is already this process's."""
    if before.told_at is None:
        return False
    if process.started_at is not None:
        return before.told_at >= process.started_at - EARLY
    if before.gone_at is not None:
        return before.told_at >= before.gone_at
    return not before.ended


def _selected(state: State, event: ev.ServerSelected) -> State:
    servers = state.servers
    if event.server not in servers:
        new = ServerState(process=ServerProcess(key=event.server))
        servers = {**servers, event.server: new}
    return replace(state, selected=event.server, servers=servers)


# --- one server ------------------------------------------------------------------------------


def _gone(server: ServerState, event: ev.ServerGone) -> ServerState:
    return server if server.gone_at is not None else replace(server, gone_at=event.at)


def _experience(server: ServerState, event: ev.ExperienceLoaded) -> ServerState:
    return replace(server, experience=event.phases)


def _log_opened(server: ServerState, event: ev.LogOpened) -> ServerState:
    return replace(server, log=LogState(place=event.place, size=event.size))


def _log_text(server: ServerState, event: ev.LogText) -> ServerState:
    log = server.log
    return replace(
        server,
        log=replace(
            log,
            received=log.received + len(event.data),
            last_at=event.at if event.data else log.last_at,
            live=event.live,
            read_at=event.at if event.live and not log.live else log.read_at,
            detail="",
            advice="",
        ),
    )


def _log_gone(server: ServerState, event: ev.LogUnavailable) -> ServerState:
    return replace(
        server, log=replace(server.log, detail=event.detail, advice=event.advice, live=False)
    )


def _launch(server: ServerState, event: ev.LaunchBegan) -> ServerState:
    again = server.told_at is not None
    return replace(
        server,
        version=event.version or server.version,
        args=event.args or ({} if again else server.args),
        speculative=event.speculative if event.speculative.on or again else server.speculative,
        ladder=tuple(Rung(name=name, role=role) for name, role in event.ladder),
        launched=event.stamp,
        told_at=event.at,
        ready=False,
        ready_after=None,
        ended=False,
        decode=None,
        prefill=None,
        diagnoses=(),
        restarts=server.restarts + 1 if again else server.restarts,
    )


def _planned(server: ServerState, event: ev.LadderPlanned) -> ServerState:
    known = {(rung.name, rung.role): rung for rung in server.ladder}
    rungs = [known.pop((name, role), Rung(name=name, role=role)) for name, role in event.ladder]
    rungs += [rung for rung in known.values() if rung.status != "pending"]
    return replace(server, ladder=tuple(rungs))


def _with_rung(
    server: ServerState, name: PhaseName, role: Role, change: Callable[[Rung], Rung]
) -> ServerState:
    ladder = list(server.ladder)
    for index, rung in enumerate(ladder):
        if rung.name == name and rung.role == role:
            ladder[index] = change(rung)
            break
    else:
        ladder.append(change(Rung(name=name, role=role)))
    return replace(server, ladder=tuple(ladder))


def _phase_began(server: ServerState, event: ev.PhaseBegan) -> ServerState:
    def change(rung: Rung) -> Rung:
        return replace(
            rung,
            status="running" if rung.status != "done" or not event.rank else rung.status,
            begun=rung.begun if rung.begun is not None else event.stamp,
            total=event.total if event.total is not None else rung.total,
            done=0 if event.total is not None and rung.done is None else rung.done,
            detail=event.detail or rung.detail,
            moved_at=event.at,
            ranks={**rung.ranks, event.rank: rung.ranks.get(event.rank, False)},
        )

    return _with_rung(server, event.name, event.role, change)


def _phase_moved(server: ServerState, event: ev.PhaseMoved) -> ServerState:
    def change(rung: Rung) -> Rung:
        moved = rung.done != event.done or rung.total != event.total
        return replace(
            rung,
            status="running" if rung.status == "pending" else rung.status,
            done=event.done,
            total=event.total,
            detail=event.detail or rung.detail,
            moved_at=event.at if moved or rung.moved_at is None else rung.moved_at,
        )

    return _with_rung(server, event.name, event.role, change)


def _phase_ended(server: ServerState, event: ev.PhaseEnded) -> ServerState:
    def change(rung: Rung) -> Rung:
        ranks = {**rung.ranks, event.rank: True}
        everyone = all(ranks.values())
        seconds = event.seconds if event.seconds is not None else rung.seconds
        if seconds is None and everyone and event.stamp is not None and rung.begun is not None:
            seconds = max(0.0, event.stamp - rung.begun)
        return replace(
            rung,
            status="done" if everyone else rung.status,
            ended=event.stamp if event.stamp is not None else rung.ended,
            seconds=seconds,
            done=rung.total if everyone and rung.total is not None else rung.done,
            detail=event.detail or rung.detail,
            moved_at=event.at,
            ranks=ranks,
        )

    return _with_rung(server, event.name, event.role, change)


def _ready(server: ServerState, event: ev.ServerReady) -> ServerState:
    ladder = tuple(
        replace(
            rung,
            status="done",
            ended=rung.ended if rung.ended is not None else event.stamp,
            moved_at=event.at,
        )
        if rung.status == "running" or rung.name == "ready"
        else rung
        for rung in server.ladder
    )
    after = event.seconds
    if after is None and event.stamp is not None and server.launched is not None:
        after = max(0.0, event.stamp - server.launched)
    return replace(server, ready=True, ready_after=after, ladder=ladder, ended=False)


def _decoded(server: ServerState, event: ev.DecodeSample) -> ServerState:
    speculative = server.speculative
    return replace(server, decode=event, speculative=speculative, progress_at=event.at)


def _prefilled(server: ServerState, event: ev.PrefillSample) -> ServerState:
    return replace(server, prefill=event, progress_at=event.at)


def _steps(server: ServerState, event: ev.StepsChanged) -> ServerState:
    tokens = event.num_draft_tokens
    return replace(
        server,
        speculative=replace(
            server.speculative,
            num_steps=event.num_steps,
            num_draft_tokens=tokens if tokens is not None else server.speculative.num_draft_tokens,
        ),
    )


def _diagnosed(server: ServerState, event: ev.Diagnosed) -> ServerState:
    known = [d for d in server.diagnoses if d.code != event.diagnosis.code]
    diagnoses = (*known, event.diagnosis)[-MAX_DIAGNOSES:]
    ladder = server.ladder
    if event.ended:
        ladder = tuple(
            replace(rung, status="failed") if rung.status == "running" else rung for rung in ladder
        )
    return replace(
        server,
        diagnoses=diagnoses,
        ended=server.ended or event.ended,
        ready=server.ready and not event.ended,
        ladder=ladder,
    )


def _scraped(server: ServerState, event: ev.Scraped) -> ServerState:
    reading, speculative = event.reading, server.speculative
    if reading.num_steps is not None and speculative.on:
        speculative = replace(
            speculative,
            num_steps=reading.num_steps,
            num_draft_tokens=reading.num_draft_tokens
            if reading.num_draft_tokens is not None
            else speculative.num_draft_tokens,
        )
    return replace(
        server,
        speculative=speculative,
        metrics=MetricsState(at=event.at, reading=reading, rates=event.rates, took=event.took),
        progress_at=event.at if event.rates.progress else server.progress_at,
    )


def _scrape_failed(server: ServerState, event: ev.ScrapeFailed) -> ServerState:
    metrics = server.metrics
    return replace(server, metrics=replace(metrics, problem=event, failures=metrics.failures + 1))


def _info(server: ServerState, event: ev.InfoRead) -> ServerState:
    return replace(
        server,
        version=event.version or server.version,
        args=event.args or server.args,
        speculative=server.speculative if event.speculative is None else event.speculative,
        ready=server.ready,
    )


def _alerted(server: ServerState, event: ev.Alerted) -> ServerState:
    return server if server.alerts == event.alerts else replace(server, alerts=event.alerts)


_HOST_HANDLERS: dict[type, Callable[[State, Any], State]] = {
    ev.LinkChanged: _link,
    ev.HostSeen: _host,
    ev.GpusRead: _gpus,
    ev.GpusUnavailable: _no_gpus,
    ev.StartedOver: _started_over,
    ev.ServersFound: _found,
    ev.ServerSelected: _selected,
}
_SERVER_HANDLERS: dict[type, Callable[[ServerState, Any], ServerState]] = {
    ev.ServerGone: _gone,
    ev.ExperienceLoaded: _experience,
    ev.LogOpened: _log_opened,
    ev.LogText: _log_text,
    ev.LogUnavailable: _log_gone,
    ev.LaunchBegan: _launch,
    ev.LadderPlanned: _planned,
    ev.PhaseBegan: _phase_began,
    ev.PhaseMoved: _phase_moved,
    ev.PhaseEnded: _phase_ended,
    ev.ServerReady: _ready,
    ev.DecodeSample: _decoded,
    ev.PrefillSample: _prefilled,
    ev.StepsChanged: _steps,
    ev.Diagnosed: _diagnosed,
    ev.Scraped: _scraped,
    ev.ScrapeFailed: _scrape_failed,
    ev.InfoRead: _info,
    ev.Alerted: _alerted,
}
