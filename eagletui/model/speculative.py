"""Speculative decoding settings, in SGLang's own words."""

from __future__ import annotations

from eagletui.model.base import Data


class Speculative(Data, frozen=True):
    """What a server drafts with. `None` means the server did not say.

    Attributes:
        algorithm: `EAGLE3`, `EAGLE`, `NEXTN`, `NGRAM`, …; None is no speculation.
        num_steps: k, the draft steps of one step.
        eagle_topk: branches a draft step keeps; 1 is a chain.
        num_draft_tokens: verify width, root included.
        draft_model: path of the draft, where there is one.
        adaptive: whether the server changes k at run time.
    """

    algorithm: str | None = None
    num_steps: int | None = None
    eagle_topk: int | None = None
    num_draft_tokens: int | None = None
    draft_model: str | None = None
    adaptive: bool = False

    @property
    def on(self) -> bool:
        """Whether the server speculates at all."""
        return self.algorithm is not None

    @property
    def short(self) -> str:
        """`EAGLE3 k=3 topk=1 draft=4`, for titles."""
        if self.algorithm is None:
            return "no speculation"
        parts = [self.algorithm]
        for label, value in (
            ("k", self.num_steps),
            ("topk", self.eagle_topk),
            ("draft", self.num_draft_tokens),
        ):
            if value is not None:
                parts.append(f"{label}={value}")
        if self.adaptive:
            parts.append("adaptive")
        return " ".join(parts)


def accept_rate(accept_length: float, num_steps: int | None) -> float | None:
    """(accept length − 1) / k for a chain, between 0 and 1, or None where k is unknown or 0.

    Computed here because releases disagree on what they call the accept rate (redefined in 0.5.11).
    """
    if not num_steps or num_steps < 1 or not accept_length >= 1.0:
        return None
    return min(1.0, (accept_length - 1.0) / num_steps)
