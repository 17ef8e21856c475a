"""Failures of one launch: tracebacks read to their last line, and which verdict counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from eagletui.engine import diagnosis as dia
from eagletui.engine.diagnosis import Signature
from eagletui.engine.launch import Launch, Moment
from eagletui.engine.logline import Record
from eagletui.engine.signatures import table as sig
from eagletui.model import events as ev
from eagletui.model.diagnosis import Diagnosis

MAX_FLAGS = 4000
_TRACEBACK = "Traceback (most recent call last)"
_FLAG = re.compile(r"(?<![\w-])--[a-z0-9][a-z0-9-]*")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?::|$)")
_HIT = re.compile(r"(\w[\w ]*?) hit an exception")
_CHAINED = ("During handling of the above", "The above exception was")
_REMAINING = re.compile(r"Gracefully exiting\.\.\. Remaining number of requests (\d{1,9})")
_UNREMARKABLE = ("Receive: obj=", "Finish: obj=", "[http_server] Error:", "Ignore import error")
_DRAFT_CODE = ("speculative", "draft", "eagle_worker")
STOPS = (
    "SIGTERM received", "Gracefully exiting... ", "INFO:     Shutting down",
    "kill_process_tree called",
)  # fmt: skip
_TRACKER = "resource_tracker: There appear to be"
_ASKED_TO_STOP = (
    "KeyboardInterrupt", "asyncio.exceptions.CancelledError", "CancelledError", "SystemExit",
    "GeneratorExit",
)  # fmt: skip


class _Traceback:
    """One traceback while it is read.

    Attributes:
        origin: who reported it: `Scheduler`, `DetokenizerManager`, "" for a bare one.
        draft: whether its frames went through the draft's code.
        outermost: whether it begins with the program itself. Of a chain, Python prints the causes
            first and they begin further inside; this one is the last and the process is over.
    """

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.draft = False
        self.outermost = False
        self._frames = 0

    def frame(self, text: str) -> None:
        """One indented line of it."""
        if self._frames == 0 and not self.origin:
            self.outermost = "_run_module_as_main" in text or text.endswith("in <module>")
        self._frames += 1
        self.draft = self.draft or any(word in text for word in _DRAFT_CODE)


class _Raised(NamedTuple):
    """The exception a traceback ended in, until it is known whether another follows from it."""

    origin: str
    text: str
    line: int
    finding: dia.Finding | None


def signs(text: str) -> tuple[Signature, ...] | None:
    """The signatures of a message; None where it may be more to `Failures` than a sign of them."""
    if text.startswith((*_UNREMARKABLE, *_CHAINED)):
        return ()
    if text.startswith((*STOPS, "usage: ")) or _TRACEBACK in text or _TRACKER in text:
        return None
    return sig.matching(text, "message")


class Failures:
    """Turns lines of one launch into `Diagnosed` events."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._codes: set[str] = set()
        self._flags: set[str] = set()
        self._usage = False
        self._traceback: _Traceback | None = None
        self._chain: _Traceback | None = None
        self._raised: _Raised | None = None
        self._fatal: str | None = None
        self._general = False
        self._stopping = ""
        self._last = Moment("", 0.0, None)

    @property
    def open(self) -> bool:
        """Whether a traceback or usage text is being read, so that any line matters."""
        return self._usage or self._traceback is not None or self._chain is not None

    @property
    def waits(self) -> bool:
        """Whether any line still matters: something is open, or an exception to be judged."""
        return self.open or self._raised is not None

    def knows(self, signatures: Iterable[Signature]) -> bool:
        """Whether a message of only these signatures (see `signs`) gives and changes nothing.

        Unless something `waits`.
        """
        return all(not row.ended and row.code in self._codes for row in signatures)

    def line(self, record: Record, line: int, now: Moment) -> Iterator[ev.Event]:
        """One line that is neither a batch nor an access line."""
        self._last = now
        text = record.text
        if self._usage:
            if record.stamp is None and ": error: " not in text:
                if len(self._flags) < MAX_FLAGS:
                    self._flags.update(_FLAG.findall(text))
                return
            self._usage = False
        if self._traceback is not None and record.stamp is None:
            yield from self._in_traceback(self._traceback, text, line, now)
            return
        if self._chain is not None and not text.startswith((*_CHAINED, _TRACEBACK)):
            chain, self._chain = self._chain, None
            if chain.origin:
                yield from self._concluded(now)
        if text.startswith((*_UNREMARKABLE, *_CHAINED)):
            return
        if text.startswith("usage: ") and record.stamp is None:
            self._usage = True
            self._flags.update(_FLAG.findall(text))
            return
        if _TRACEBACK in text:
            hit = _HIT.search(text)
            origin = hit[1] if hit else "Launch" if "Initialization failed" in text else ""
            self._traceback = _Traceback(
                origin or (self._chain.origin if self._chain is not None else "")
            )
            self._chain = None
            return
        yield from self._stops(text, line, now)
        yield from self._known(text, "message", line, now)

    def finish(self) -> Iterator[ev.Event]:
        """The log is over and the process with it: what was left open is judged now."""
        yield from self._concluded(self._last)

    def degraded(self, verdict: Diagnosis, now: Moment) -> Iterator[ev.Event]:
        """A verdict that was reached elsewhere, once a launch."""
        if verdict.code not in self._codes:
            self._codes.add(verdict.code)
            yield self._event(verdict, now, ended=False)

    # --- tracebacks ------------------------------------------------------------------------

    def _in_traceback(
        self, traceback: _Traceback, text: str, line: int, now: Moment
    ) -> Iterator[ev.Event]:
        if text[:1].isspace() or text.startswith(_TRACEBACK):
            traceback.frame(text)
            return
        self._traceback = None
        self._chain = traceback
        if not _EXCEPTION.match(text):
            return
        if text.startswith(_ASKED_TO_STOP):
            if text.startswith("KeyboardInterrupt"):
                yield from self._terminated(
                    "The server was stopped by an interrupt (Ctrl-C)", text, line, now, ended=True
                )
            return
        if self._launch.ready and not traceback.origin:
            return  # of one request
        context = self._context()._replace(draft=traceback.draft or self._names_draft(text))
        finding = sig.find(text, "exception", context, line=line)
        self._raised = _Raised(traceback.origin, text, line, finding)
        if traceback.outermost:
            yield from self._concluded(now)

    def _names_draft(self, text: str) -> bool:
        draft = self._launch.speculative.draft_model
        model = self._launch.args.get("model_path")
        return draft is not None and draft != model and draft in text

    def _concluded(self, now: Moment) -> Iterator[ev.Event]:
        """The last exception was the one that counts."""
        left, self._raised = self._raised, None
        if left is None:
            return
        if left.finding is not None:
            yield from self._found(left.finding, now)
            return
        if self._fatal is not None or self._stopping:
            return
        if left.origin == "DetokenizerManager":
            code, (title, advice) = "detokenizer-crashed", sig.SCHEDULER_CRASHED
            title = title.replace("scheduler", "detokenizer")
        elif left.origin == "Scheduler":
            code, (title, advice) = "scheduler-crashed", sig.SCHEDULER_CRASHED
        else:
            code, (title, advice) = "launch-failed", sig.LAUNCH_FAILED
        verdict = dia.diagnosis(
            code,
            "fatal",
            title.replace("{what}", left.text[:160]),
            line=left.line,
            evidence=left.text,
            advice=advice,
        )
        yield from self._found(dia.Finding(verdict, ended=True, general=True), now)

    # --- stopping on purpose ---------------------------------------------------------------

    def _stops(self, text: str, line: int, now: Moment) -> Iterator[ev.Event]:
        if text.startswith("SIGTERM received"):
            self._stopping = "The server was stopped by SIGTERM"
            yield from self._terminated(
                "The server was asked to stop (SIGTERM) and finishes what runs", text, line, now
            )
        elif match := _REMAINING.match(text):
            left = int(match[1])
            if left:
                self._codes.add("drain-waiting")
                verdict = dia.diagnosis(
                    "drain-waiting",
                    "warning",
                    f"The stop waits for {left} running requests",
                    line=line,
                    evidence=text,
                    advice="It waits without a limit: abort them (/abort_request with abort_all) "
                    "or end the server with SIGKILL.",
                )
                yield self._event(verdict, now, ended=False)
            else:
                yield from self._terminated(self._stopping, text, line, now, ended=True)
        elif text.startswith("INFO:     Shutting down"):
            self._stopping = self._stopping or "The server was stopped by an interrupt (SIGINT)"
            yield from self._terminated(self._stopping, text, line, now)
        elif text.startswith("kill_process_tree called"):
            if self._stopping:
                yield from self._terminated(self._stopping, text, line, now, ended=True)
            elif self._launch.args:
                yield from self._concluded(now)
        elif _TRACKER in text:
            yield from self._vanished(text, line, now)

    def _vanished(self, text: str, line: int, now: Moment) -> Iterator[ev.Event]:
        """Python's resource tracker outlives a main process that was killed, and says so."""
        if not self._launch.ready or self._stopping or self._fatal is not None:
            return
        self._fatal = "terminated"
        verdict = dia.diagnosis(
            "terminated",
            "fatal",
            "The server's main process is gone without a farewell: it was killed",
            line=line,
            evidence=text,
            advice="Somebody sent SIGKILL, or the kernel's out-of-memory killer did: "
            "`dmesg -T | grep -i oom` tells.",
        )
        yield self._event(verdict, now, ended=True)

    def _terminated(
        self, title: str, text: str, line: int, now: Moment, *, ended: bool = False
    ) -> Iterator[ev.Event]:
        if self._fatal is not None or self._launch.ended:
            return
        self._stopping = self._stopping or title
        self._codes.add("terminated")
        verdict = dia.diagnosis(
            "terminated", "info", title or "The server was stopped", line=line, evidence=text
        )
        yield self._event(verdict, now, ended=ended)

    # --- signatures ------------------------------------------------------------------------

    def _known(self, text: str, where: dia.Where, line: int, now: Moment) -> Iterator[ev.Event]:
        finding = sig.find(text, where, self._context(), line=line)
        if finding is None:
            return
        if finding.general:
            yield from self._concluded(now)
        yield from self._found(finding, now)

    def _found(self, finding: dia.Finding, now: Moment) -> Iterator[ev.Event]:
        """Report a finding unless a better one is there."""
        verdict = finding.diagnosis
        if not finding.ended:
            yield from self.degraded(verdict, now)
            return
        if self._stopping:
            return
        if self._fatal is not None and (finding.general or not self._general):
            return
        self._fatal = verdict.code
        self._general = finding.general
        yield self._event(verdict, now, ended=True)

    def _context(self) -> dia.Context:
        running = self._launch.running
        return dia.Context(
            phase=running[0] if running else None,
            ready=self._launch.ready,
            flags=self._flags,
            known=self._codes,
        )

    def _event(self, verdict: Diagnosis, now: Moment, *, ended: bool) -> ev.Event:
        self._launch.ended = self._launch.ended or ended
        return ev.Diagnosed(
            at=now.at,
            server=now.server,
            diagnosis=replace(verdict, at=now.at),
            ended=ended,
            stamp=now.stamp,
        )
