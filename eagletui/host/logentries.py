"""Lines with their time, as journald and Docker give them."""

from __future__ import annotations

import datetime
import re

# Microseconds since the epoch, and the line with its newline.
Entry = tuple[int, bytes]


def journal_entries(data: bytes) -> tuple[list[Entry], bytes]:
    """`journalctl -o export`: FIELD=value, or FIELD, length, bytes; an empty line ends an entry."""
    entries: list[Entry] = []
    at = start = 0
    moment, message = 0, b""
    while True:
        end = data.find(b"\n", at)
        if end < 0:
            return entries, data[start:]
        line = data[at:end]
        at = end + 1
        if not line:
            if moment:
                entries.append((moment, message + b"\n"))
            start, moment, message = at, 0, b""
            continue
        name, equals, value = line.partition(b"=")
        if not equals:
            if len(data) < at + 8:
                return entries, data[start:]
            size = int.from_bytes(data[at : at + 8], "little")
            if len(data) < at + 8 + size + 1:
                return entries, data[start:]
            value = data[at + 8 : at + 8 + size]
            at += 8 + size + 1
        if name == b"__REALTIME_TIMESTAMP":
            moment = int(value)
        elif name == b"MESSAGE":
            message = value


_DOCKER_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?")


def docker_entries(data: bytes) -> tuple[list[Entry], bytes]:
    """`docker logs --timestamps`: `2026-01-20T02:40:29.123456789Z text`."""
    *lines, rest = data.split(b"\n")
    entries: list[Entry] = []
    for line in lines:
        found = _DOCKER_STAMP.match(line)
        if found is None:
            # A message of docker itself, or a second line of one record.
            entries.append((entries[-1][0] if entries else 0, line + b"\n"))
            continue
        entries.append((_microseconds(found), line[found.end() :] + b"\n"))
    return entries, rest


def _microseconds(found: re.Match[bytes]) -> int:
    zone = found[3].decode().replace("Z", "+00:00")
    moment = datetime.datetime.fromisoformat(found[1].decode() + zone)
    fraction = int((found[2] or b"0").ljust(6, b"0")[:6])
    return int(moment.timestamp()) * 1_000_000 + fraction
