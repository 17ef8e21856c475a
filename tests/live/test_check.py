"""The rules of `check` held against SGLang's own parser: what it refuses, and what it settles on.

No server is started: the lab's Python parses, resolves and validates a list of command lines.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from typing import Any, NamedTuple

import pytest

from eagletui.engine.check.run import check
from eagletui.engine.check.settle import settled
from eagletui.engine.check.situation import Situation
from eagletui.engine.flags.argv import read_arguments
from eagletui.engine.flags.help import parse_help
from eagletui.engine.flags.known import flags_of, listed_flags
from eagletui.engine.flags.table import HIDDEN
from eagletui.engine.releases import Version
from eagletui.model.finding import HostFacts, ModelFiles
from eagletui.model.profile import StartPlan
from tests.engine.test_check import CASES, QUIET, SPEC
from tests.live.server import LAB, RELEASE, SERVE

VERSION = Version(RELEASE)
LLAMA = HostFacts(
    target=ModelFiles(path="m", config={"architectures": ["LlamaForCausalLM"]}),
)

# Errors that no parser sees: they come while the server loads, or at its first step.
LATER = frozenset(
    {
        "tree-without-tokens",
        "too-many-draft-tokens",
        "too-few-draft-tokens",
        "no-draft",
        "backend-without-draft",
        "decoupled-draft",
        "bad-port",
        "too-few-devices",
    }
)
# What the lab's machine refuses for reasons of its own: no such GPU, no such file.
ELSEWHERE = (
    *("trtllm_mha", "c.json", "x.yaml", "DSPARK", "UNO"),
    "--enable-two-batch-overlap",
)


class Line(NamedTuple):
    """A command line for both."""

    flags: str
    environment: dict[str, str] = {}

    @property
    def words(self) -> list[str]:
        """The arguments, with the lab's models for `m` and `d`."""
        words = [*QUIET.split(), *self.flags.split(), "--device", "cpu"]
        if "attention-backend" not in self.flags.replace("draft-attention-backend", ""):
            words += ["--attention-backend", "intel_amx"]
        models = {"m": "tiny-llama", "d": "tiny-eagle3"}
        return [str(LAB / "models" / models[word]) if word in models else word for word in words]

    @property
    def plan(self) -> StartPlan:
        """The same for our rules."""
        argv = ("python3", "-m", "sglang.launch_server", *self.words)
        return StartPlan(argv=argv, environment=self.environment)


def _grid() -> list[Line]:
    lines = []
    for algorithm in ("EAGLE3", "NEXTN", "STANDALONE"):
        for values in itertools.product((None, 1, 3), (None, 1, 2), (None, 2, 4, 9)):
            flags = SPEC.replace("EAGLE3", algorithm)
            names = ("num-steps", "eagle-topk", "num-draft-tokens")
            for name, value in zip(names, values, strict=True):
                flags += f" --speculative-{name} {value}" if value is not None else ""
            lines.append(Line(flags))
    return lines


LINES = [
    *(
        Line(case.flags, case.environment)
        for case in CASES
        if case.release == RELEASE
        and not any(word in case.flags for word in ELSEWHERE)
        and "SGLANG_PLUGINS" not in case.environment
        and case.codes != "tree-pages-backend"
    ),
    *_grid(),
]


def ask_the_lab(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [LAB / "venv" / "bin" / "python", SERVE.with_name("resolve.py")],
        input="".join(json.dumps(line) + "\n" for line in asked).encode(),
        capture_output=True,
        timeout=1800,
        check=True,
    )
    said = done.stdout.decode().splitlines()
    return [json.loads(line[1:]) for line in said if line.startswith("@")]


@pytest.fixture(scope="module")
def all_answers() -> list[dict[str, Any]]:
    """What SGLang made of every line, and last of a start that bounds nothing."""
    asked = [{"argv": line.words, "environment": line.environment} for line in LINES]
    unbounded = [w for w in Line(SPEC).words if w not in ("--max-running-requests", "8")]
    return ask_the_lab([*asked, {"argv": unbounded}])


@pytest.fixture(scope="module")
def answers(all_answers: list[dict[str, Any]]) -> list[tuple[Line, dict[str, Any]]]:
    """Every line and what SGLang made of it."""
    return list(zip(LINES, all_answers[:-1], strict=True))


def test_what_sglang_refuses_is_an_error_here_and_nothing_else(
    answers: list[tuple[Line, dict[str, Any]]],
) -> None:
    wrong = []
    for line, answer in answers:
        findings = check(line.plan, release=VERSION, facts=LLAMA)
        errors = {finding.code for finding in findings if finding.severity == "error"} - LATER
        if answer["ok"] is bool(errors):
            wrong.append((line.flags, sorted(errors), answer.get("error", "accepted")))
    assert wrong == []
    refused = [answer for _, answer in answers if not answer["ok"]]
    assert len(refused) > 40
    assert len(answers) - len(refused) > 80


def test_what_sglang_settles_on_is_what_we_say(
    answers: list[tuple[Line, dict[str, Any]]],
) -> None:
    wrong = []
    compared = 0
    for line, answer in answers:
        situation = Situation(line.plan, VERSION, LLAMA)
        ours = settled(situation)
        if not answer["ok"] or not situation.drafting.eagle or situation.drafting.adaptive:
            continue
        theirs = tuple(
            answer[f"speculative_{name}"]
            for name in ("num_steps", "eagle_topk", "num_draft_tokens")
        )
        compared += 1
        # A tree without draft tokens is settled on nothing; that it fails later is our error.
        if (tuple(ours) if ours else None) != (theirs if None not in theirs else None):
            wrong.append((line.flags, ours, theirs))
    assert wrong == []
    assert compared > 60


def test_what_we_call_quiet_changes_happens(answers: list[tuple[Line, dict[str, Any]]]) -> None:
    seen = set()
    for line, answer in answers:
        codes = {finding.code for finding in check(line.plan, release=VERSION, facts=LLAMA)}
        if not answer["ok"]:
            continue
        if "adaptive-off" in codes:
            assert answer["speculative_adaptive"] is False
        elif "--speculative-adaptive" in line.flags:
            assert answer["speculative_adaptive"] is True
        if "mixed-chunk-off" in codes:
            assert answer["enable_mixed_chunk"] is False
        elif "--enable-mixed-chunk" in line.flags:
            assert answer["enable_mixed_chunk"] is True
        if "speculation-off" in codes:
            assert answer["speculative_algorithm"] is None
        if "nextn-is-eagle" in codes:
            assert answer["speculative_algorithm"] == "EAGLE"
        seen |= codes
    assert {"adaptive-off", "mixed-chunk-off", "speculation-off", "nextn-is-eagle"} <= seen


def test_an_unset_bound_becomes_48(all_answers: list[dict[str, Any]]) -> None:
    assert all_answers[-1]["max_running_requests"] == 48


def test_the_installations_help_is_the_list_we_keep() -> None:
    done = subprocess.run(
        [LAB / "venv" / "bin" / "python", "-m", "sglang.launch_server", "--help"],
        env=os.environ | {"SGLANG_USE_CPU_ENGINE": "1"},
        capture_output=True,
        timeout=900,
        check=True,
    )
    options = parse_help(done.stdout.decode())
    told = {(o.flags, o.takes_value, o.nargs, tuple(sorted(o.choices))) for o in options}
    kept = {
        (flag.names, flag.kind != "switch", flag.nargs, tuple(sorted(flag.choices)))
        for flag in listed_flags()
        if HIDDEN.isdisjoint(flag.names)
    }
    assert told == kept
    asked = flags_of(VERSION, options)
    for line in LINES:
        assert read_arguments(line.words, asked) == read_arguments(line.words, flags_of(VERSION))
