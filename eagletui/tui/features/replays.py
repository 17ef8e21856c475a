"""A recording that is played: held, stepped, wound, faster and slower."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eagletui.tui.features.core import Core

if TYPE_CHECKING:
    from eagletui.monitor.replay import Replay


class ReplayActions(Core):
    """Actions of a replay; without one they do nothing.

    Attributes:
        replay: the feed, where it is a recording.
    """

    replay: Replay | None

    def action_replay_pause(self) -> None:
        """Hold the replay, or let it go on."""
        if self.replay is not None:
            self.replay.pause()
            self.refresh_keys()

    def action_replay_step(self) -> None:
        """What came next."""
        if self.replay is not None:
            self.replay.step()
            self.refresh_keys()

    def action_replay_seek(self, by: float) -> None:
        """So many seconds on or back."""
        if self.replay is not None:
            self.replay.seek(by)
            self.refresh_keys()

    def action_replay_speed(self, factor: float) -> None:
        """Faster or slower."""
        if self.replay is not None:
            self.replay.change_speed(factor)
            self.refresh_keys()
