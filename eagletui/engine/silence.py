"""Verdicts about a log that says nothing, from what is known of its process."""

from __future__ import annotations

from eagletui.engine.diagnosis import diagnosis
from eagletui.model.diagnosis import Diagnosis

# A server that is asked writes its warnings at once and its arguments within seconds (imports take
# up to a minute on a cold disk).
LONGEST_FIRST_SILENCE = 120.0
# Loading moves a bar, serving prints batches: only an idle server is quiet for long.
LONGEST_SILENCE = 900.0
# Where standard error leads elsewhere, the log is lost from the start; the first prints come early.
REDIRECT_SEEN_AFTER = 10.0
# A log this small after a start holds prints only: logging and bars go to stderr.
STDOUT_ONLY_BYTES = 4096


def redirect_lost(
    *, size: int, process_age: float, stderr_elsewhere: bool, file: str = ""
) -> Diagnosis | None:
    """A log that holds standard output only, as `2>&1 > FILE` makes it.

    Args:
        size: bytes in the log.
        process_age: seconds since the server started.
        stderr_elsewhere: whether file descriptor 2 leads somewhere else than file descriptor 1.
        file: the log's name, for the words.
    """
    if not stderr_elsewhere or process_age < REDIRECT_SEEN_AFTER or size > STDOUT_ONLY_BYTES:
        return None
    return diagnosis(
        "redirect-lost",
        "warning",
        "The log holds almost nothing: SGLang writes to standard error, and that goes elsewhere",
        evidence=f"{file or 'the log'} holds {size} bytes after {process_age:.0f} s",
        advice="Start the server with `> FILE 2>&1`, in this order; `2>&1 > FILE` loses the log.",
    )


def silent_log(
    *, size: int, process_age: float, still_for: float, busy: bool, ready: bool
) -> Diagnosis | None:
    """A log that does not grow although its process lives.

    Args:
        size: bytes in the log.
        process_age: seconds since the server started.
        still_for: seconds since the log last grew.
        busy: whether the server is known to work (requests run, a phase is under way).
        ready: whether it serves; while it loads the phases judge stalls better.
    """
    if size == 0 and process_age >= LONGEST_FIRST_SILENCE:
        return diagnosis(
            "log-silent",
            "warning",
            "The log is empty although the server has been running for a while",
            evidence=f"0 bytes after {process_age:.0f} s",
            advice="Its output may go to another file or terminal: say --log PATH.",
        )
    if size and ready and busy and still_for >= LONGEST_SILENCE:
        return diagnosis(
            "log-silent",
            "warning",
            "The log stopped growing although requests run",
            evidence=f"no new line for {still_for:.0f} s",
            advice="The file may have been rotated or its disk be full, or the server hangs.",
        )
    return None
