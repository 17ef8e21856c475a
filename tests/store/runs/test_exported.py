"""What of an exported file is refused, and what is said of it."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from eagletui.model.run import Run, Sent
from eagletui.store.runs.exported import Exported, ExportProblem, export_lines, read_export
from tests.store.runs.made import made_cell, made_run


def _refused(run: Run) -> ExportProblem:
    """As one who exported it with an eagletui that let it through."""
    rows = map(json.loads, export_lines([Exported(run)]))
    with pytest.raises(ExportProblem) as problem:
        read_export(enumerate(rows, 1))
    return problem.value


def _impossible(via: str, source: str = "") -> Run:
    cell = replace(made_cell(), requests=(Sent(began=0.0, latency=-1.0),))
    return made_run(cells=(cell,), via=via, source=source)


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("/old/replies.jsonl", "Import /old/replies.jsonl again, not what was made of it"),
        ("", "Import the original file again, not what was made of it"),
    ],
)
def test_a_figure_that_an_older_eagletui_imported_is_mended_by_the_original_file(
    source: str, advice: str
) -> None:
    problem = _refused(_impossible("import", source))
    assert problem.line == 2
    assert problem.what == (
        "Line 2: cells[0].requests[0].latency is -1; it must be 0 or more and "
        "at most 10000000 seconds."
    )
    assert problem.meaning == (
        "An older eagletui took such figures over from other files; this one does not."
    )
    assert problem.advice == f"{advice}; nothing of the file was imported."


def test_a_figure_of_a_measured_run_is_exported_or_measured_again() -> None:
    problem = _refused(_impossible("client"))
    assert problem.meaning == (
        "The file was changed after it was written, or this was measured wrongly."
    )
    assert problem.advice == (
        "Export the run again; where it is still so, measure again; "
        "nothing of the file was imported."
    )
