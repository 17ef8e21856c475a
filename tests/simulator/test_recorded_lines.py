"""What the simulation writes has, byte for byte, the form of the recordings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from eagletui.simulator.bars import batch_bar, interval, shard_bar
from eagletui.simulator.releases import RELEASES, Release, access, decode_line, prefill_line, record
from tests.simulator.recorded import pattern, records, text, values

_SHARDS = re.compile(
    r"(Multi-thread loading shards): +\d+% Completed \| (\d+)/(\d+) "
    r"\[(\d+):(\d+)<[^,]*, +([\d.?]+)(it/s|s/it)\]"
)
_BATCHES = re.compile(
    r"(?:(Capturing.*?): )? *\d+%\|[^|]*\| (\d+)/(\d+) \[(\d+):(\d+)<[^,]*, +([\d.?]+)(it/s|s/it)\]"
)


def _bars(name: str) -> Iterator[tuple[str, str]]:
    for chunk in re.split(r"[\r\n]", text(name)):
        for shape, draw in ((_SHARDS, shard_bar), (_BATCHES, batch_bar)):
            match = shape.match(chunk)
            if match is None:
                continue
            known = match[6] != "?"
            speed = float(match[6]) if known else 0.0
            rate = (speed if match[7] == "it/s" else 1 / speed) if known else None
            elapsed = int(match[4]) * 60 + int(match[5]) if known else 0
            drawn = draw(match[1] or "", int(match[2]), int(match[3]), elapsed, rate)
            yield drawn, match[0]


@pytest.mark.parametrize(
    ("name", "count"), [("h200-0.5.16-eagle3-k5.log", 67), ("h200-0.5.16-plain.log", 34)]
)
def test_bars_are_drawn_as_recorded(name: str, count: int) -> None:
    drawn = list(_bars(name))
    assert len(drawn) == count
    for ours, theirs in drawn:
        assert ours == theirs


def test_long_bars() -> None:
    assert interval(3725.9) == "1:02:05"
    assert (
        shard_bar("L", 156, 163, 834.0, 1 / 5.32)
        == "L:  96% Completed | 156/163 [13:54<00:37,  5.32s/it]"
    )


def _fixed_templates(release: Release) -> dict[str, str]:
    """Every template of one line, but the two of serving, by field name."""
    found: dict[str, str] = {}
    for name in release.__struct_fields__:
        value = getattr(release, name)
        lines = value if isinstance(value, tuple) else (value,)
        if name in ("version", "warnings", "server_args", "shards_label", "shards_end", "prefill"):
            continue
        if name.startswith(("decode", "occupancy", "capture_label", "capture_failed", "warm_up")):
            continue
        for number, line in enumerate(lines):
            if isinstance(line, str) and line:
                found[f"{name}{number or ''}"] = line
    return found


@pytest.mark.parametrize(
    ("name", "version", "counts"),
    [
        (
            "h200-0.5.16-eagle3-k5.log",
            "0.5.16",
            {
                "init_begin": 2,
                "init_end": 2,
                "load_begin": 2,
                "load_end": 2,
                "kv_cache": 2,
                "pool_end": 2,
                "no_prefill_graph": 2,
                "capture_begin": 3,
                "capture_end": 3,
                "summary": 1,
                "tree_cache": 1,
                "draining": 1,
                "drained": 1,
                "killing": 1,
            },
        ),
        (
            "cpu-0.5.23-eagle.log",
            "0.5.23",
            {
                "init_begin": 1,
                "init_end": 1,
                "init_end1": 2,
                "load_begin": 2,
                "load_end": 2,
                "kv_cache": 2,
                "pool_end": 2,
                "no_prefill_graph": 2,
                "summary": 1,
                "tree_cache": 1,
                "tree_cache1": 1,
                "startup_timings": 1,
                "draining": 1,
                "drained": 1,
            },
        ),
        (
            "cpu-0.5.23-tp2.log",
            "0.5.23",
            {
                "init_begin": 2,
                "init_end": 2,
                "init_end1": 2,
                "load_begin": 2,
                "load_end": 2,
                "kv_cache": 2,
                "pool_end": 2,
                "no_prefill_graph": 2,
                "summary": 1,
                "tree_cache": 2,
                "tree_cache1": 2,
                "startup_timings": 1,
                "draining": 1,
                "drained": 1,
            },
        ),
    ],
)
def test_each_recorded_phase_line_is_ours(name: str, version: str, counts: dict[str, int]) -> None:
    templates = _fixed_templates(RELEASES[version])
    shapes = {key: pattern(line) for key, line in templates.items()}
    seen: Counter[str] = Counter()
    for stamp, rank, message in records(name):
        matched: set[str] = set()
        for key, shape in shapes.items():
            match = shape.fullmatch(message)
            if match is None or templates[key] in matched:
                continue
            matched.add(templates[key])
            rendered = record(stamp, templates[key].format(**values(match)), rank)
            prefix = f"[{stamp} {rank}]" if rank else f"[{stamp}]"
            assert rendered == f"{prefix} {message}\n"
            seen[key] += 1
    assert {key: seen[key] for key in counts} == counts


@pytest.mark.parametrize(
    ("name", "version", "decodes", "prefills"),
    [
        ("h200-0.5.16-eagle3-k5.log", "0.5.16", 143, 40),
        ("h200-0.5.16-plain.log", "0.5.16", 153, 16),
        ("cpu-0.5.23-eagle.log", "0.5.23", 6, 35),
        ("cpu-0.5.23-tp2.log", "0.5.23", 9, 12),
    ],
)
def test_each_recorded_serving_line_is_ours(
    name: str, version: str, decodes: int, prefills: int
) -> None:
    release = RELEASES[version]
    tail = f"(?:{pattern(release.occupancy).pattern})?"
    spec = pattern(release.decode_spec).pattern
    decode = pattern(release.decode.replace("{spec}", "SPEC")).pattern
    decode = decode.replace("SPEC", f"(?:{spec})?")
    seen: Counter[str] = Counter()
    for _, _, message in records(name):
        for kind, shape in (("decode", decode), ("prefill", pattern(release.prefill).pattern)):
            match = re.fullmatch(shape + tail, message)
            if match is None:
                continue
            fields = values(match)
            occupancy = fields.pop("occupancy", None)
            if kind == "decode":
                fields.pop("spec", None)
                ours = decode_line(
                    release, spec="accept_length" in fields, occupancy=occupancy, **fields
                )
            else:
                ours = prefill_line(release, occupancy=occupancy, **fields)
            assert ours == message
            seen[kind] += 1
    recorded = Counter(message.split(" ")[0] for _, _, message in records(name))
    assert (seen["decode"], seen["prefill"]) == (recorded["Decode"], recorded["Prefill"])
    assert (seen["decode"], seen["prefill"]) == (decodes, prefills)


def test_access_lines_are_ours() -> None:
    shape = re.compile(r'INFO:     (\S+) - "(\S+) (\S+) HTTP/1\.1" (\d+) (.*)')
    found = [m for _, _, line in records("cpu-0.5.23-eagle.log") if (m := shape.fullmatch(line))]
    assert len(found) == 170
    for match in found:
        assert access(match[1], match[2], match[3], int(match[4]), match[5]) == match[0]


def test_launch_warning_is_ours() -> None:
    recorded = text("h200-0.5.16-eagle3-k5.log")
    (warning,) = RELEASES["0.5.16"].warnings
    assert recorded.startswith(warning.format(site="/opt/sglang") + "\n")
    (newer,) = RELEASES["0.5.23"].warnings
    site = "/opt/sglang/lib/python3.11/site-packages"
    assert text("cpu-0.5.23-eagle.log").startswith(newer.format(site=site) + "\n")
