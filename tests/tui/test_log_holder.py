"""What stands in the place of a log that cannot be shown."""

from __future__ import annotations

import pytest

from eagletui.model.history import History
from eagletui.model.server import LogPlace
from eagletui.model.state import State, fold_all
from eagletui.tui.config import Settings
from eagletui.tui.view import View
from eagletui.tui.widgets.log_holder import why_no_log
from tests.tui.scenes import NOW, connected, found

FAR = "/srv/" + "far/" * 40 + "x.log"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (
            LogPlace(kind="file", target="/srv/x.log", detail="where its output goes"),
            "reading the log /srv/x.log (file)",
        ),
        (LogPlace(kind="given", target=FAR, detail="given by hand"), f"{FAR} (given by you)"),
        (
            LogPlace(kind="docker", target="3f2a", detail="container 3f2a, read with docker logs"),
            "reading the log 3f2a (docker logs)",
        ),
        (LogPlace(kind="none", detail="thrown away"), "thrown away"),
        (LogPlace(kind="terminal", detail="pts /dev/pts/3"), "pts /dev/pts/3"),
        (LogPlace(kind="none"), "nothing was read of the log yet"),
    ],
)
def test_a_log_of_which_nothing_came_yet_is_named(place: LogPlace, said: str) -> None:
    # Nothing was opened yet: the last event of a find says that a log was.
    state = fold_all(State(), [*connected(), *found(log=place)[:-1]])
    why = why_no_log(View(state, History(), {}, NOW, Settings())).plain
    assert why.endswith(said)
    assert "where its output goes" not in why


def test_without_a_server_there_is_no_log() -> None:
    view = View(fold_all(State(), connected()), History(), {}, NOW, Settings())
    assert why_no_log(view).plain == "no server selected"
