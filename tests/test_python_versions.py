"""The code runs on Python 3.10, though the machine that tests it may have a newer one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OLDEST = (3, 10)

# What Python 3.11 and later added and people reach for: module → names ("*": the whole module).
TOO_NEW: dict[str, frozenset[str]] = {
    "tomllib": frozenset({"*"}),
    "asyncio": frozenset({"timeout", "timeout_at", "TaskGroup", "Runner", "Barrier"}),
    "typing": frozenset(
        {"Self", "assert_never", "assert_type", "LiteralString", "Never", "Required",
         "NotRequired", "Unpack", "TypeVarTuple", "reveal_type", "override", "dataclass_transform"}
    ),
    "datetime": frozenset({"UTC"}),
    "enum": frozenset({"StrEnum", "verify", "member", "nonmember"}),
    "contextlib": frozenset({"chdir"}),
    "itertools": frozenset({"batched"}),
    "math": frozenset({"cbrt", "exp2", "sumprod"}),
    "hashlib": frozenset({"file_digest"}),
    "operator": frozenset({"call"}),
}  # fmt: skip
TOO_NEW_BUILTINS = frozenset({"ExceptionGroup", "BaseExceptionGroup", "EncodingWarning"})


def sources() -> list[Path]:
    """Every Python file that runs with the person's own Python."""
    return [
        path
        for folder in ("eagletui", "tests")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "lab" not in path.relative_to(ROOT).parts
    ]


def too_new(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, name) of everything that Python 3.10 does not have.

    An import inside `try` (a fallback follows) or `if` (a version was asked for) may be newer.
    """
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Try, ast.If))
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                if "*" in TOO_NEW.get(alias.name, ()):
                    yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            names = TOO_NEW.get(node.module or "", frozenset())
            for alias in node.names:
                if "*" in names or alias.name in names:
                    yield node.lineno, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in TOO_NEW.get(node.value.id, ()):
                yield node.lineno, f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Name) and node.id in TOO_NEW_BUILTINS:
            yield node.lineno, node.id


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_newer_than_python_3_10(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source, str(path), feature_version=OLDEST)
    found = [f"{path}:{line}: {name}" for line, name in too_new(tree)]
    assert not found, found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import tomllib", ["tomllib"]),
        ("from tomllib import loads", ["tomllib.loads"]),
        ("import asyncio\nasyncio.timeout(1)", ["asyncio.timeout"]),
        ("from typing import Any, Self", ["typing.Self"]),
        ("from datetime import UTC, datetime", ["datetime.UTC"]),
        ("raise ExceptionGroup('', [])", ["ExceptionGroup"]),
        ("try:\n    import tomllib\nexcept ImportError:\n    import tomli as tomllib", []),
        ("import sys\nif sys.version_info >= (3, 11):\n    import tomllib", []),
        ("from typing import Any\nimport asyncio\nasyncio.wait_for(None, 1)", []),
    ],
)
def test_the_scan_sees_what_it_should(source: str, expected: list[str]) -> None:
    assert [name for _, name in too_new(ast.parse(source))] == expected


def test_newer_syntax_is_refused() -> None:
    with pytest.raises(SyntaxError):
        ast.parse("try:\n    pass\nexcept* ValueError:\n    pass", feature_version=OLDEST)
