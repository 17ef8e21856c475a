"""What a restart knows of its two servers."""

from __future__ import annotations

from typing import Any

from eagletui.control.api import Running
from eagletui.control.launch_log import LaunchLog
from eagletui.model.literals import Literals, literals_of
from eagletui.model.profile import Guard, StartPlan


class Facts:
    """What a restart knows of its two servers; all of it is on the host too."""

    def __init__(
        self,
        launch: str,
        plan: StartPlan | None,
        guard: Guard,
        old: Running | None,
        *,
        again: bool = False,
    ) -> None:
        self.launch = launch
        self.again = again
        self.plan = plan
        self.guard = guard
        self.old = old
        self.new_argv: tuple[str, ...] = plan.argv if plan is not None else ()
        self.child: dict[str, Any] = {}
        self.log: LaunchLog | None = None

    @property
    def secrets(self) -> Literals:
        """What the logs and the replies of both may hold."""
        plan, old = self.plan, self.old
        new = literals_of(plan.argv, plan.environment) if plan is not None else Literals()
        return new | (literals_of(old.argv, old.environment) if old is not None else Literals())

    @property
    def port(self) -> int:
        """Where the server answers that is being started or stopped."""
        if self.plan is not None:
            return self.plan.port
        return self.old.port if self.old is not None else 0
