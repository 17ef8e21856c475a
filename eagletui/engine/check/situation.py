"""What a rule looks at: one start, read for one release, and what the host said."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from eagletui.engine.flags.argv import Arguments, is_sglang, read_arguments, split_command
from eagletui.engine.flags.known import KnownFlags, flags_of
from eagletui.engine.flags.table import FLAGS
from eagletui.engine.releases import Range, Version, version
from eagletui.model.finding import HostFacts
from eagletui.model.profile import SPECULATIVE, StartPlan

# The old name of a flag stands for the new one where both take the same.
_KIND = {name: row.kind for row in FLAGS for name in row.names.split()}
_NOW = {row.name: row.now for row in FLAGS if row.now and _KIND.get(row.now) == row.kind}
_PLACES = {"--model-path": "server.model", "--port": "server.port"}

EAGLE_FAMILY = frozenset({"EAGLE", "EAGLE3", "NEXTN", "STANDALONE"})
"""The algorithms that draft with steps, topk and draft tokens."""


class Drafting(NamedTuple):
    """The speculative flags as they were given; None is not given."""

    algorithm: str | None
    num_steps: int | None
    eagle_topk: int | None
    num_draft_tokens: int | None
    draft: str | None
    adaptive: bool

    @property
    def eagle(self) -> bool:
        """Whether steps, topk and draft tokens count."""
        return self.algorithm in EAGLE_FAMILY


class Situation:
    """One start in one release.

    Args:
        plan: what is to be started.
        release: the SGLang it is started with.
        facts: what the host said; an empty one where nobody asked.
    """

    def __init__(self, plan: StartPlan, release: Version, facts: HostFacts) -> None:
        self.plan = plan
        self.release = release
        self.facts = facts
        self.environment = plan.environment

    @cached_property
    def command(self) -> tuple[str, ...]:
        """The words before the flags."""
        return split_command(self.plan.argv)[0]

    @cached_property
    def ours(self) -> bool:
        """Whether SGLang itself reads the flags, and no script of the person's."""
        return is_sglang(self.plan.argv)

    @cached_property
    def known(self) -> KnownFlags:
        """The flags this SGLang has."""
        return flags_of(self.release, self.facts.options)

    @cached_property
    def arguments(self) -> Arguments:
        """The flags of the start."""
        return read_arguments(split_command(self.plan.argv)[1], self.known)

    @cached_property
    def _values(self) -> dict[str, tuple[str, ...]]:
        return {now(given.flag): given.values for given in self.arguments.given}

    def given(self, flag: str) -> bool:
        """Whether the flag is there."""
        return flag in self._values

    def text(self, flag: str) -> str | None:
        """The flag's value; None where it is not given or has none."""
        values = self._values.get(flag, ())
        return values[0] if values else None

    def number(self, flag: str) -> int | None:
        """The flag's value where it is a whole number (`128k` counts too), else None."""
        return number(self.text(flag))

    def since(self, release: str) -> bool:
        """Whether this release is that one or newer."""
        return not self.release < version(release)

    def between(self, since: str, until: str) -> bool:
        """Whether this release lies between these, both included."""
        return self.release in Range(since, until)

    @cached_property
    def drafting(self) -> Drafting:
        """The speculative flags."""
        algorithm = self.text("--speculative-algorithm")
        return Drafting(
            algorithm=algorithm.upper() if algorithm else None,
            num_steps=self.number("--speculative-num-steps"),
            eagle_topk=self.number("--speculative-eagle-topk"),
            num_draft_tokens=self.number("--speculative-num-draft-tokens"),
            draft=self.text("--speculative-draft-model-path"),
            adaptive=self.given("--speculative-adaptive"),
        )

    @cached_property
    def backends(self) -> tuple[str | None, str | None]:
        """The attention backends of prefill and decode; None is the server's own choice."""
        both = self.text("--attention-backend")
        return (
            self.text("--prefill-attention-backend") or both,
            self.text("--decode-attention-backend") or both,
        )

    @property
    def tp_size(self) -> int:
        """Ranks that share the weights."""
        return self.number("--tp-size") or 1

    @cached_property
    def attention_dp(self) -> int:
        """Ranks of attention data parallelism; 1 is none."""
        if self.given("--enable-dp-attention"):
            return max(self.number("--dp-size") or 1, self.number("--attn-dp-size") or 1)
        return self.number("--attn-dp-size") or 1

    @cached_property
    def gpus(self) -> int:
        """GPUs of all nodes: attention data parallelism lies inside the tensor parallel group."""
        replicas = 1 if self.given("--enable-dp-attention") else self.number("--dp-size") or 1
        return self.tp_size * (self.number("--pp-size") or 1) * replicas

    @property
    def nodes(self) -> int:
        """Machines the server runs on."""
        return self.number("--nnodes") or 1

    @cached_property
    def target(self) -> dict[str, Any]:
        """`config.json` of the model; {} where it is not known."""
        return self.facts.target.config if self.facts.target else {}

    @cached_property
    def draft(self) -> dict[str, Any]:
        """`config.json` of the draft; {} where it is not known."""
        return self.facts.draft.config if self.facts.draft else {}

    @cached_property
    def architecture(self) -> str:
        """The model's first architecture, "" where it is not known."""
        names = self.target.get("architectures")
        return str(names[0]) if isinstance(names, list) and names else ""


def now(flag: str) -> str:
    """What a flag is called today: an old name and its new one set the same thing."""
    return _NOW.get(flag, flag)


def place(flag: str) -> str:
    """Where a flag stands in a profile: `speculative.num-steps`, `server.flags.page-size`."""
    if flag in _PLACES:
        return _PLACES[flag]
    name = flag.lstrip("-")
    if name.startswith(SPECULATIVE):
        return f"speculative.{name[len(SPECULATIVE) :]}"
    return f"server.flags.{name}"


def number(text: str | None) -> int | None:
    """A whole number as SGLang reads it, `128k` and `1Mi` included; None for anything else."""
    if text is None:
        return None
    for suffix, factor in _FACTORS.items():
        if text.endswith(suffix):
            try:
                return int(float(text[: -len(suffix)]) * factor)
            except (ValueError, OverflowError):
                return None
    try:
        return int(text)
    except ValueError:
        return None


_FACTORS = {
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
}


class Found(NamedTuple):
    """What a rule found; code and severity are the rule's."""

    path: str
    message: str
    advice: str = ""


Finds = Iterator[Found]
