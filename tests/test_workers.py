"""How many files of tests run at a time."""

from __future__ import annotations

import pytest

from tests.workers import usable_cores, workers


@pytest.mark.parametrize(("cores", "expected"), [(1, 0), (2, 2), (3, 2), (64, 2)])
def test_two_where_there_are_two_cores_and_none_beside_this_one_else(
    cores: int, expected: int
) -> None:
    assert workers(cores) == expected


def test_this_machine_has_a_core() -> None:
    assert usable_cores() >= 1
