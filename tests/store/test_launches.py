from __future__ import annotations

from pathlib import Path

from eagletui.store.launches import KEPT, LaunchMemory


def test_nothing_is_known_before_the_first_launch(tmp_path: Path) -> None:
    assert LaunchMemory(tmp_path / "launches.json").experience("gpu1", "m") == {}


def test_typical_is_the_median_and_longest_the_maximum(tmp_path: Path) -> None:
    memory = LaunchMemory(tmp_path / "deep" / "launches.json")
    for seconds in (100.0, 400.0, 110.0):
        for _ in range(2):
            memory.learn("gpu1", "m", f"at {seconds}", {"weights/target": seconds})
    known = memory.experience("gpu1", "m")["weights/target"]
    assert (known.typical, known.longest, known.launches) == (110.0, 400.0, 3)
    assert memory.experience("gpu2", "m") == {}
    assert memory.experience("gpu1", "other") == {}


def test_only_the_newest_launches_count(tmp_path: Path) -> None:
    memory = LaunchMemory(tmp_path / "launches.json")
    memory.learn("h", "m", "slow", {"graphs/target": 9999.0})
    for number in range(KEPT):
        memory.learn("h", "m", str(number), {"graphs/target": 10.0})
    assert memory.experience("h", "m")["graphs/target"].longest == 10.0


def test_a_damaged_or_newer_file_is_set_aside_not_lost(tmp_path: Path) -> None:
    for content in (b"{half", b'{"version": 99, "launches": {}}'):
        path = tmp_path / "launches.json"
        path.write_bytes(content)
        memory = LaunchMemory(path)
        assert memory.experience("h", "m") == {}
        memory.learn("h", "m", "one", {"warm-up": 1.0})
        assert memory.experience("h", "m")["warm-up"].typical == 1.0
        assert (tmp_path / "launches.json.unreadable").read_bytes() == content
