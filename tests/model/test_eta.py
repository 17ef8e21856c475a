from __future__ import annotations

import pytest
from msgspec.structs import replace

from eagletui.model.eta import FIRST_GUESS, about, eta
from eagletui.model.phases import PhaseExperience, Rung
from eagletui.model.server import ServerProcess
from eagletui.model.state import ServerState

ZONE = 7200.0
"""The host's clock is two hours off: log time + ZONE = user's clock."""


def server(*ladder: Rung, **experience: tuple[float, float]) -> ServerState:
    return ServerState(
        process=ServerProcess(key=":1"),
        ladder=ladder,
        experience={
            key.replace("_", "/"): PhaseExperience(typical=typical, longest=longest, launches=2)
            for key, (typical, longest) in experience.items()
        },
    )


DONE = Rung(name="arguments", status="done", begun=0.0, ended=10.0, moved_at=10.0 + ZONE)
GRAPHS = Rung(name="graphs", role="target")
READY = Rung(name="ready")


def weights(done: int, moved: float, total: int = 100) -> Rung:
    return Rung(
        name="weights",
        role="target",
        status="running",
        begun=10.0,
        done=done,
        total=total,
        moved_at=moved + ZONE,
    )


def test_a_bar_alone_speaks_for_its_phase_and_guesses_for_the_rest() -> None:
    found = eta(server(DONE, weights(25, 60.0), GRAPHS, READY), 61.0 + ZONE)
    assert found.phase_remaining == pytest.approx(150.0 - 1.0)
    assert found.remaining == pytest.approx(149.0 + FIRST_GUESS["graphs"])
    assert not found.learned


def test_from_a_tenth_on_the_bar_wins_over_experience() -> None:
    """Earlier launches read from the page cache in 12 s; this one needs 85 s."""
    rest = (GRAPHS, READY)
    known = {"weights_target": (12.0, 14.0), "graphs_target": (40.0, 50.0)}
    found = eta(server(DONE, weights(5, 14.25), *rest, **known), 14.25 + ZONE)
    # half the bar's 80.75 s, half the 7.75 s that are left of what it usually takes
    assert found.phase_remaining == pytest.approx(44.25)
    found = eta(server(DONE, weights(10, 18.5), *rest, **known), 18.5 + ZONE)
    assert found.phase_remaining == pytest.approx(76.5)
    assert found.remaining == pytest.approx(116.5)
    assert found.learned
    # history is used up long before the bar has a tenth
    found = eta(server(DONE, weights(5, 60.0), *rest, **known), 60.0 + ZONE)
    assert found.phase_remaining == pytest.approx(950.0)


@pytest.mark.parametrize("known", [{}, {"weights_target": (60.0, 600.0)}])
def test_a_bar_that_rests_promises_less_and_then_nothing(
    known: dict[str, tuple[float, float]],
) -> None:
    resting = server(DONE, weights(10, 50.0), READY, **known)  # a step takes 4 s
    left = [eta(resting, 50.0 + rested + ZONE).phase_remaining for rested in range(43)]
    assert left[:6] == pytest.approx([360.0, 359.0, 358.0, 357.0, 356.0, 356.0])
    assert left[12] == pytest.approx(356.0)
    assert left[13] == pytest.approx((40.0 + 13.0) / 10 * 90)
    assert left[40] == pytest.approx(720.0)
    assert left[41] is None


def test_all_shards_are_not_the_end_of_the_phase() -> None:
    rung = weights(100, 60.0)
    known = eta(server(DONE, rung, READY, weights_target=(100.0, 120.0)), 80.0 + ZONE)
    assert known.phase_remaining == pytest.approx(30.0)
    guessed = eta(server(DONE, rung, READY), 80.0 + ZONE)
    assert guessed.phase_remaining == pytest.approx(FIRST_GUESS["weights/target"] - 70.0)


def test_nothing_is_said_once_a_phase_is_longer_than_ever() -> None:
    known = server(DONE, weights(100, 60.0), READY, weights_target=(60.0, 90.0))
    assert eta(known, 80.0 + ZONE).remaining == pytest.approx(20.0)
    assert eta(known, 101.0 + ZONE).remaining is None


def test_before_and_after() -> None:
    assert eta(server(), 0.0).remaining is None
    assert eta(replace(server(DONE, READY), ready=True), 0.0).remaining == 0.0
    assert eta(replace(server(DONE, weights(1, 11.0)), gone_at=1.0), 0.0).remaining is None
    pending = eta(server(Rung(name="arguments"), READY), 0.0)
    assert (pending.remaining, pending.phase_remaining) == (FIRST_GUESS["arguments"], None)


def test_time_between_two_phases_counts() -> None:
    waiting = server(DONE, Rung(name="distributed init"), GRAPHS, READY)
    whole = FIRST_GUESS["distributed init"] + FIRST_GUESS["graphs"]
    left = eta(waiting, 14.0 + ZONE)
    assert left.remaining == pytest.approx(whole - 4.0)
    assert (left.phase_remaining, left.learned) == (None, False)
    assert eta(waiting, 99.0 + ZONE).remaining == FIRST_GUESS["graphs"]


def test_every_phase_has_a_guess() -> None:
    for name in ("arguments", "distributed init", "kv cache", "prefill graphs", "graphs"):
        assert FIRST_GUESS[name] > 0.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "5 s"),
        (38.0, "40 s"),
        (89.0, "90 s"),
        (91.0, "2 min"),
        (310.0, "5 min"),
        (4200.0, "1 h 10 min"),
        (7300.0, "2 h 00 min"),
    ],
)
def test_a_guess_is_told_no_finer_than_it_is_good_for(seconds: float, text: str) -> None:
    assert about(seconds) == text
