"""`docs/check.md` lists the rules; `python -m tests.engine.test_check_doc` renews it."""

from __future__ import annotations

from pathlib import Path

from eagletui.engine.check.table import RULES

DOC = Path(__file__).parent.parent.parent / "docs" / "check.md"
BEGIN, END = "<!-- rules: begin -->\n", "<!-- rules: end -->\n"


def table() -> str:
    """The table of all rules, in their order."""
    rows = ["| code | severity | reads | what it finds |", "|---|---|---|---|"]
    rows += [
        f"| `{rule.code}` | {rule.severity} | {', '.join(rule.reads)} | {rule.title} |"
        for rule in RULES
    ]
    return "\n".join(rows) + "\n"


def renewed(text: str) -> str:
    """The document with the table of today."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


def test_the_document_lists_the_rules() -> None:
    text = DOC.read_text(encoding="utf-8")
    assert text == renewed(text)
    assert text.count(BEGIN) == 1


def test_no_title_breaks_the_table() -> None:
    assert all("|" not in rule.title and rule.title for rule in RULES)


if __name__ == "__main__":
    DOC.write_text(renewed(DOC.read_text(encoding="utf-8")), encoding="utf-8")
