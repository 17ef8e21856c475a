"""What does not go together, and ports that others hold."""

from __future__ import annotations

import re

from eagletui.engine.diagnosis import Signature

_HTTP_PORT = "Stop the process that holds it (ss -ltnp shows which), or choose another --port."

CLASHES: tuple[Signature, ...] = (
    Signature(
        "backend-unsupported",
        ("backend", "Backend"),
        re.compile(
            r"(?:not supported|unsupported|[Nn]ot support|does not support|[Oo]nly support|requires"
            r"|[Ii]nvalid|must be|only available).{0,120}[Bb]ackend"
            r"|[Bb]ackend.{0,160}(?:not supported|unsupported|does not support|doesn't support"
            r"|only support|requires|is not available|must be)"
        ),
        "The chosen attention backend cannot do this",
        "Choose another --attention-backend (or --speculative-draft-attention-backend); for EAGLE "
        "with topk > 1 flashinfer, fa3 or triton.",
        where="exception",
    ),
    Signature(
        "port-in-use",
        ("address already in use",),
        re.compile(
            r"bind on address \('(?P<host>[^']*)', (?P<port>\d+)[^)]*\): address already in"
        ),
        "Port {port} is taken by another process",
        _HTTP_PORT,
        where="message",
    ),
    Signature(
        "port-in-use",
        ("ddress already in use", "is used by a process already"),
        re.compile(r"[Aa]ddress already in use|is used by a process already"),
        "A port the server needs is taken by another process",
        "A server that was stopped may still be there: end what is left of it, or choose another "
        "port.",
        where="exception",
    ),
    Signature(
        "port-in-use",
        (" is in use. Waiting",),
        re.compile(r"[Pp]ort (?P<port>\d+) is in use\. Waiting"),
        "Port {port} is in use; the server waits for it",
        "A server that was stopped may still be there: end what is left of it.",
        where="message",
        severity="warning",
        ended=False,
    ),
)
