"""`/generate` replies, one a line, as one cell.

A reply's `meta_info` has its token counts and times; with speculation also `spec_verify_ct` and a
histogram of accepted drafts: `spec_correct_drafts_histogram` (seen in 0.5.16 on an H200 and 0.5.23
on a CPU), before `spec_accept_histogram`. `wall`, where whoever saved it added it, is the client's
own latency in seconds and goes before `e2e_latency`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import asdict

from eagletui.engine.imported.problem import IMPOSSIBLE, ImportProblem
from eagletui.model.loops import SO, Loops, tail_bigrams
from eagletui.model.plausible import faults
from eagletui.model.run import Cell, Run, Sent, Surroundings, Workload
from eagletui.model.safe import safe
from eagletui.model.speculative import Speculative

UNNAMED = "speculation"
"""Stands for the algorithm where only its counters are known."""


class _Meta(msgspec.Struct):
    completion_tokens: int
    prompt_tokens: int | None = None
    e2e_latency: float | None = None
    spec_verify_ct: int | None = None
    spec_correct_drafts_histogram: list[int] | None = None
    spec_accept_histogram: list[int] | None = None
    spec_num_proposed_drafts: int | None = None
    spec_proposed_drafts: int | None = None
    request_received_ts: float | None = None
    response_sent_to_client_ts: float | None = None
    request_finished_ts: float | None = None

    @property
    def histogram(self) -> tuple[int, ...]:
        return tuple(self.spec_correct_drafts_histogram or self.spec_accept_histogram or ())

    @property
    def ended(self) -> tuple[str, float | None]:
        """When it ended, behind the name of the field that says so."""
        if self.response_sent_to_client_ts:
            return "response_sent_to_client_ts", self.response_sent_to_client_ts
        return "request_finished_ts", self.request_finished_ts


class _Reply(msgspec.Struct):
    meta_info: _Meta
    wall: float | None = None
    output_ids: list[int] | None = None
    text: str = ""

    @property
    def latency(self) -> float | None:
        return self.wall or self.meta_info.e2e_latency or None


class _Timed(NamedTuple):
    """When a request began and ended; `received` is when the server saw it."""

    began: float
    received: float
    ended: float


class _Served(NamedTuple):
    """What is kept of a reply: the texts of many need not fit into memory."""

    meta: _Meta
    latency: float | None
    times: _Timed | None
    distinct_bigrams: float | None
    tail_bigrams: float | None


def is_reply(row: object) -> bool:
    """Whether a decoded line is one of these."""
    return isinstance(row, dict) and "meta_info" in row


def run_of_replies(rows: Iterable[tuple[int, Any]], *, run: str, name: str, source: str) -> Run:
    """The run of a file of replies.

    Args:
        rows: decoded lines with their numbers.
        run: its id.
        source: the file's path.

    Raises:
        ImportProblem: a line is no reply, none was served, or they are not of one measurement.
    """
    served: list[_Served] = []
    failed: list[Sent] = []
    for line, row in rows:
        if isinstance(row, dict) and "meta_info" not in row and "error" in row:
            failed.append(Sent(began=0.0, error=safe(str(row["error"]))[:200]))
            continue
        try:
            reply = msgspec.convert(row, _Reply)
        except (msgspec.ValidationError, RecursionError) as error:
            raise ImportProblem(
                f"this is no /generate reply: {safe(str(error))}.", line=line
            ) from (error)
        for fault in faults("/generate", {**asdict(reply.meta_info), "wall": reply.wall}):
            raise ImportProblem(f"{fault.words}.", line=line, advice=IMPOSSIBLE)
        words: list[Any] = list(reply.output_ids or reply.text.split())
        served.append(
            _Served(
                reply.meta_info,
                reply.latency,
                _timed(reply, line),
                _distinct_bigrams(words),
                tail_bigrams(words),
            )
        )
    if not served:
        raise ImportProblem("None of the replies was served.")
    return _run(served, failed, run=run, name=name, source=source)


def _run(served: list[_Served], failed: list[Sent], *, run: str, name: str, source: str) -> Run:
    known = [one.times for one in served if one.times is not None]
    warnings = []
    if len(known) == len(served):
        start = min(time.began for time in known)
        seconds = max(time.ended for time in known) - start
        began = [time.began - start for time in known]
        concurrency = _most_at_once(known)
    else:
        start, seconds = 0.0, sum(one.latency or 0.0 for one in served)
        began, concurrency = [0.0] * len(served), 1
        warnings.append(_untimed(served))
    for fault in faults("Cell", {"seconds": seconds}):
        raise ImportProblem(
            f"The replies are not of one measurement: from the first to the last, {fault.words}.",
            advice="Import those of each measurement by themselves; nothing of the file was "
            "imported.",
        )
    if silent := sum(one.latency is None for one in served):
        warnings.append(
            f"{silent} of {len(served)} replies tell no latency: their tokens count, and no time."
        )
    requests = [
        Sent(
            began=at,
            latency=one.latency,
            prompt_tokens=one.meta.prompt_tokens,
            output_tokens=one.meta.completion_tokens,
            verify_steps=one.meta.spec_verify_ct,
            accepted=one.meta.histogram,
            distinct_bigrams=one.distinct_bigrams,
        )
        for at, one in zip(began, served, strict=True)
    ]
    requests.sort(key=lambda request: request.began)
    loops = Loops()
    for one in served:
        loops.add(one.tail_bigrams)
    if loops.words:
        warnings.append(loops.words)
    return Run(
        id=run,
        name=name,
        began=start,
        ended=start + seconds,
        via="import",
        workload=Workload(endpoint="/generate", requests=len(requests) + len(failed)),
        surroundings=Surroundings(speculative=_speculative([one.meta for one in served])),
        cells=(
            Cell(
                concurrency=concurrency,
                seconds=seconds,
                requests=(*requests, *failed),
                doubt="looped" if loops.too_many else "",
                why=f"{loops.words} {SO}" if loops.too_many else "",
                warnings=tuple(warnings),
            ),
        ),
        source=source,
    )


def _timed(reply: _Reply, line: int) -> _Timed | None:
    """When it was served; None where it does not say.

    Raises:
        ImportProblem: its times contradict each other, and nobody knows which one is wrong.
    """
    name, ended = reply.meta_info.ended
    received, latency = reply.meta_info.request_received_ts, reply.latency
    if not ended:
        return None
    if received is not None and received > ended:
        said = f"request_received_ts is {received:.15g}, after {name}, {ended:.15g}."
        raise ImportProblem(said, line=line, advice=IMPOSSIBLE)
    if latency is None:
        return None
    if latency > ended:
        said = f"{name} is {ended:.15g}, and it took {latency:.15g} seconds until then."
        raise ImportProblem(said, line=line, advice=IMPOSSIBLE)
    return _Timed(ended - latency, ended - latency if received is None else received, ended)


def _untimed(served: list[_Served]) -> str:
    """That not all replies say when they were served, and what they are taken for."""
    if not any(one.meta.ended[1] for one in served):
        return "The replies have no times; they are taken as sent one after the other."
    silent = sum(one.times is None for one in served)
    return (
        f"{silent} of {len(served)} replies have no times or no latency; "
        "all are taken as sent one after the other."
    )


def _most_at_once(times: list[_Timed]) -> int:
    """As the server saw them: the client's own times overlap by what it took to read a reply."""
    changes = sorted([(time.received, 1) for time in times] + [(time.ended, -1) for time in times])
    now = most = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return max(1, most)


def _distinct_bigrams(words: list[Any]) -> float | None:
    pairs = list(pairwise(words))
    return len(set(pairs)) / len(pairs) if len(pairs) >= 32 else None


def _speculative(replies: list[_Meta]) -> Speculative:
    """Settings that the counters give away: k from the histogram, w from drafts a step."""
    steps = sum(reply.spec_verify_ct or 0 for reply in replies)
    if not steps:
        return Speculative()
    proposed = sum(
        reply.spec_num_proposed_drafts or reply.spec_proposed_drafts or 0 for reply in replies
    )
    width = round(proposed / steps) + 1 if proposed else None
    k = max(len(reply.histogram) for reply in replies) - 1
    return Speculative(
        algorithm=UNNAMED,
        num_steps=k if k > 0 else None,
        # One draft a step more than k, and it is a chain.
        eagle_topk=1 if width is not None and k > 0 and width == k + 1 else None,
        num_draft_tokens=width,
    )
