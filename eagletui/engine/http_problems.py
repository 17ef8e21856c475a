"""What a failed scrape means and what to do about it, in words."""

from __future__ import annotations

import errno
import re
from typing import NamedTuple

from eagletui.model.events import ScrapeProblem
from eagletui.model.safe import excerpt, safe


class Problem(NamedTuple):
    """`loading` says that this is what a server looks like while it loads: no failure yet."""

    problem: ScrapeProblem
    detail: str
    advice: str = ""
    loading: bool = False


# Names of exceptions (or of their bases), as classes of aiohttp, asyncio and the host are called.
_KINDS: tuple[tuple[str, ScrapeProblem], ...] = (
    ("ConnectionRefused", "refused"),
    ("ChannelOpen", "refused"),
    ("gaierror", "unreachable"),
    ("SSL", "unreachable"),
    ("Certificate", "unreachable"),
    ("Permission", "unreachable"),
    ("Timeout", "timeout"),
    ("TooLarge", "too large"),
    ("NotMetrics", "not metrics"),
    ("PayloadError", "truncated"),
    ("IncompleteRead", "truncated"),
    ("Disconnected", "closed"),
    ("ConnectionReset", "closed"),
    ("BrokenPipe", "closed"),
    ("ConnectionLost", "closed"),
    ("ResponseError", "not metrics"),
    ("HttpProcessing", "not metrics"),
    ("InvalidURL", "not metrics"),
    ("ClientConnector", "refused"),
)
_SAID: dict[str, tuple[str, str]] = {
    "unreachable": (
        "The address cannot be reached.",
        "Check its name, port and scheme (http or https), as seen from where it is asked.",
    ),
    "timeout": (
        "The server did not answer in time.",
        "Its HTTP loop may be busy (a scrape costs it 31 ms a rank): scrape less often.",
    ),
    "too large": ("The reply is far too large for a page of metrics.", "Check the address."),
    "not metrics": ("The reply is no page of metrics.", "Check the address."),
    "truncated": ("The reply ended before it was complete.", "The server may be going down."),
    "closed": (
        "The connection ended while the server was asked.",
        "If that stays so, see the end of the log.",
    ),
}
_STATUS_LINE = re.compile(r"\A\d+, message:\s*")
_KEY_WANTED = "The server has an API key: name the variable that holds it (--api-key-env)."
_KEY_REFUSED = (
    "The API key that was sent was not accepted: compare it with the server's --api-key or"
    " --admin-api-key."
)
_METRICS_OFF = (
    "Start the server with --enable-metrics. If it has that flag, this is the port of a node with"
    " --node-rank above 0 or of a router: ask node 0 on SGLang's own --port."
)


def classify_exception(error: BaseException, *, ready: bool = False) -> Problem:
    """A request that got no reply, judged by the names of the exception's classes.

    Args:
        error: what the HTTP client, the connection or a reader raised.
        ready: whether the server was ready before, so that a refusal is no longer loading.
    """
    problem = _problem(error)
    words = _words(error)
    if problem == "refused":
        if not ready:
            return Problem(
                problem,
                "Nothing listens on the port yet.",
                "SGLang opens it only after weights and graphs are done: the log tells how far.",
                loading=True,
            )
        return Problem(
            problem,
            "The port is closed: the server was ready and listens no more.",
            "See the end of the log; look for other processes on that port.",
        )
    if "content-encoding" in words.lower():
        return Problem(
            "not metrics",
            "The reply is said to be packed, but cannot be unpacked.",
            f"Check the address and any proxy before it: {words}",
        )
    what, advice = _SAID[problem]
    return Problem(
        problem, what if problem == "not metrics" or not words else f"{what} ({words})", advice
    )


def unfinished(seconds: float | None, size: int) -> Problem:
    """A reply that began and was not over in time.

    Args:
        seconds: how long it was waited for, if that is known.
        size: bytes that came, unpacked.
    """
    within = f"within {seconds:g} s" if seconds is not None else "in time"
    return Problem(
        "timeout",
        f"The reply began, but was not over {within}: {size:,} bytes came.",
        "The way to the server is slow, or something before it holds the reply back: scrape less "
        "often, and ask SGLang's own port.",
    )


def _problem(error: BaseException) -> ScrapeProblem:
    cause = getattr(error, "os_error", None)
    if isinstance(cause, OSError):
        # One address refused among several that failed counts as all: `[Errno 111] …, [Errno …`.
        refused = cause.errno == errno.ECONNREFUSED or f"[Errno {errno.ECONNREFUSED}]" in str(cause)
        found = "refused" if refused else _of_class(cause)
        return found or "unreachable"
    return _of_class(error) or "closed"


def _of_class(error: BaseException) -> ScrapeProblem | None:
    kinds = [kind.__name__ for kind in type(error).__mro__]
    return next((p for name, p in _KINDS if any(name in kind for kind in kinds)), None)


def _words(error: BaseException) -> str:
    """The first line of what the library says, without its wrappings."""
    cause = getattr(error, "os_error", None)
    # aiohttp writes `400, message:` in a line of its own.
    text = _STATUS_LINE.sub("", str(cause if isinstance(cause, OSError) else error))
    text = text.strip().split(chr(10), 1)[0]
    return safe(text)[:300]


def classify_reply(
    status: int,
    body: bytes = b"",
    *,
    whole: bool = True,
    path: str = "/metrics",
    key_sent: bool = False,
    packed: str = "",
    sized: bool = True,
) -> Problem | None:
    """A reply that is of no use; None where it is fine.

    Args:
        body: its beginning is enough.
        whole: False where reading stopped at the limit.
        key_sent: whether an API key went with the request.
        packed: how the reply was packed (`gzip`), "" for not at all.
        sized: whether the reply said how long it is.
    """
    if 200 <= status < 300:
        return None if whole else _too_large(packed, sized)
    words = excerpt(body, 120)
    said = f"HTTP {status} for {path}" + (f": {words}" if words else "")
    if status in (401, 403):
        return Problem(
            "unauthorised",
            said,
            _KEY_REFUSED if key_sent else _KEY_WANTED,
        )
    if status == 404:
        advice = (
            _METRICS_OFF
            if path.rstrip("/").endswith("/metrics")
            else "This release has no such address."
        )
        return Problem("not found", said, advice)
    if status == 503:
        return Problem(
            "server error",
            said,
            "The server is starting, or draining before it ends.",
            loading=True,
        )
    if status >= 500:
        return Problem("server error", said, "See the log for what the server says about it.")
    return Problem("not metrics", said, "Check the address: it should be SGLang's own port.")


def _too_large(packed: str, sized: bool) -> Problem:
    """A reply that was given up at the limit of a page."""
    if packed:
        return Problem(
            "too large",
            f"The reply is packed ({safe(packed)[:20]}) and unpacks to far more than a page of "
            "metrics.",
            "No SGLang does that: check the address and any proxy before it.",
        )
    if not sized:
        return Problem(
            "too large",
            "The reply does not end: it is far longer than a page of metrics and goes on.",
            "This address gives a stream: check it.",
        )
    return Problem("too large", *_SAID["too large"])
