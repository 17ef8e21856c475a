"""Logs of any size in the form servers write them: decode, prefill, access lines, bars, the odd."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

_ODD = (
    "[{stamp} TP0] Cache flushed successfully!",
    "[{stamp} TP3] KV cache pool is full. Retract requests. #retracted_reqs: 3",
    "WARNING:sglang.srt.layers.quantization.fp8_kernel:Using default W8A8 Block FP8 kernel config.",
    "",
    "[rank0]:[W1129 12:39:40.178 ProcessGroupNCCL.cpp:1575] Warning: destroy_process_group()",
)


def made_blocks(
    size: int, *, decode: float = 0.9, seed: int = 7, speculative: bool = True
) -> Iterator[bytes]:
    """About this many bytes of a serving log, in blocks of whole lines.

    Args:
        size: bytes in all.
        decode: share of decode lines; the rest is prefill, access lines, bars and odd ones.
        seed: of the random numbers.
        speculative: whether decode lines have accept lengths.
    """
    chance = random.Random(seed)
    now = 1_771_927_200
    written = 0
    while written < size:
        lines = []
        for _ in range(2000):
            now += chance.random() < 0.15
            lines.append(_line(chance, now, decode, speculative))
        block = ("\n".join(lines) + "\n").encode()
        written += len(block)
        yield block


def _line(chance: random.Random, now: int, decode: float, speculative: bool) -> str:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now))
    kind = chance.random()
    rest = (1 - decode) / 10
    if kind < decode:
        accept = ""
        if speculative:
            length = chance.uniform(1.2, 4)
            accept = f"accept len: {length:.2f}, accept rate: {(length - 1) / 3:.2f}, "
        return (
            f"[{stamp} TP0] Decode batch{',' if chance.random() < 0.95 else '.'} #running-req: "
            f"{chance.randint(1, 256)}, #token: {chance.randint(1000, 1400000)}, token usage: "
            f"{chance.random():.2f}, {accept}cuda graph: {chance.random() < 0.97}, gen throughput "
            f"(token/s): {chance.uniform(40, 6000):.2f}, #queue-req: {chance.randint(0, 40)}, "
        )
    if kind < decode + 4 * rest:
        return (
            f"[{stamp} TP0] Prefill batch, #new-seq: {chance.randint(1, 16)}, #new-token: "
            f"{chance.randint(1, 8192)}, #cached-token: {chance.randint(0, 9000)}, token usage: "
            f"{chance.random():.2f}, #running-req: {chance.randint(0, 9)}, #queue-req: 0, "
        )
    if kind < decode + 9 * rest:
        port = chance.randint(30000, 60999)
        return f'[{stamp}] INFO:     127.0.0.1:{port} - "POST /generate HTTP/1.1" 200 OK'
    if kind < decode + 9.5 * rest:
        return chance.choice(_ODD).format(stamp=stamp)
    return "".join(
        f"\rCapturing batches (bs={8 - i} avail_mem=9.1 GB): {i * 12:3d}%|█▎ | {i}/8 [00:0{i}<?]"
        for i in range(9)
    )
