"""Runs as the tests need them."""

from __future__ import annotations

from eagletui.model.run import Cell, Run, Sent, StepTimes, Surroundings, Workload
from eagletui.model.speculative import Speculative

PLAIN = Speculative()
CHAIN = Speculative(algorithm="EAGLE3", num_steps=2, eagle_topk=1, num_draft_tokens=3)


def made_cell(
    concurrency: int = 1, repeat: int = 0, *, seconds: float = 2.0, requests: int = 8
) -> Cell:
    """A closed loop of equal requests, 512 tokens each."""
    waves = requests / concurrency
    return Cell(
        concurrency=concurrency,
        repeat=repeat,
        seconds=seconds * waves,
        requests=tuple(
            Sent(
                began=seconds * (index // concurrency),
                ttft=0.05,
                latency=seconds * (1 + 0.01 * (index % 5 - 2)),
                prompt_tokens=100,
                output_tokens=512,
                verify_steps=256,
                accepted=(100, 56, 100),
            )
            for index in range(requests)
        ),
        steps=StepTimes(source="device timer", step=8.0, verify=6.0, draft=0.5, draft_extend=0.4),
    )


def made_run(run: str = "aaaaaaaaaaaa", name: str = "chain-2", **other: object) -> Run:
    """A run of two cells."""
    fields: dict[str, object] = {
        "began": 1_795_955_000.0,
        "ended": 1_795_955_060.0,
        "workload": Workload(prompts="chat", digest="ab" * 32, temperature=0.0),
        "surroundings": Surroundings(
            model="/models/dense",
            speculative=CHAIN,
            environment={"NCCL_ALGO": "Ring"},
            versions={"sglang": "0.5.16"},
            gpus=("NVIDIA H200",),
        ),
        "cells": (made_cell(), made_cell(8)),
        **other,
    }
    return Run(id=run, name=name, **fields)  # type: ignore[arg-type]
