"""Progress bars, byte for byte as tqdm draws them without a terminal (ten cells wide)."""

from __future__ import annotations

_BLOCKS = " ▏▎▍▌▋▊▉█"
_WIDTH = 10


def interval(seconds: float) -> str:
    """`05:07`, or `1:02:03` from one hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:d}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def _pace(done: int, total: int, elapsed: float, rate: float | None) -> str:
    """`[00:01<00:02, 19.04it/s]`: elapsed, remaining, and the rate whichever way reads better."""
    if rate is None and elapsed:
        rate = done / elapsed
    if not rate:
        return f"[{interval(elapsed)}<?, ?it/s]"
    remaining = interval((total - done) / rate)
    speed = f"{rate:5.2f}it/s" if rate >= 1 else f"{1 / rate:5.2f}s/it"
    return f"[{interval(elapsed)}<{remaining}, {speed}]"


def shard_bar(label: str, done: int, total: int, elapsed: float, rate: float | None = None) -> str:
    """`LABEL:  25% Completed | 1/4 [00:00<00:00,  3.33it/s]`.

    `rate` is tqdm's smoothed rate in items per second; None takes the mean.
    """
    percent = f"{done / total * 100:3.0f}%"
    return f"{label}: {percent} Completed | {done}/{total} {_pace(done, total, elapsed, rate)}"


def batch_bar(label: str, done: int, total: int, elapsed: float, rate: float | None = None) -> str:
    """`LABEL:  25%|██▌       | 1/4 [00:00<00:00,  4.99it/s]`; an empty label has no colon."""
    whole, part = divmod(int(done / total * _WIDTH * (len(_BLOCKS) - 1)), len(_BLOCKS) - 1)
    cells = "█" * whole
    if whole < _WIDTH:
        cells += _BLOCKS[part] + " " * (_WIDTH - whole - 1)
    head = f"{label}: " if label else ""
    percent = f"{done / total * 100:3.0f}%"
    return f"{head}{percent}|{cells}| {done}/{total} {_pace(done, total, elapsed, rate)}"
