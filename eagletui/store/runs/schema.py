"""The tables, as the steps that make them: a database of any older version takes the missing ones.

A step is never changed once it was released; a change is a new step at the end. Documents are
msgspec's JSON of the model's data, compressed; a column of floats is what `columns` packs.
"""

from __future__ import annotations

APPLICATION_ID = 0x65746C72
"""`etlr`: how a file says that it is ours."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (  # 1: runs and their cells
        """CREATE TABLE runs (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            began REAL NOT NULL,
            ended REAL,
            partial INTEGER NOT NULL,
            digest TEXT NOT NULL,
            notes TEXT NOT NULL,
            tags TEXT NOT NULL,
            document BLOB NOT NULL
        ) WITHOUT ROWID""",
        "CREATE INDEX runs_by_time ON runs (began)",
        "CREATE INDEX runs_by_digest ON runs (digest)",
        """CREATE TABLE cells (
            run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            document BLOB NOT NULL,
            PRIMARY KEY (run, position)
        ) WITHOUT ROWID""",
    ),
    (  # 2: series, of runs and of live sessions
        """CREATE TABLE sessions (
            id TEXT PRIMARY KEY,
            host TEXT NOT NULL,
            server TEXT NOT NULL,
            began REAL NOT NULL,
            ended REAL NOT NULL,
            document BLOB NOT NULL
        ) WITHOUT ROWID""",
        "CREATE INDEX sessions_by_time ON sessions (began)",
        """CREATE TABLE series (
            owner TEXT NOT NULL,
            name TEXT NOT NULL,
            level INTEGER NOT NULL,
            began REAL NOT NULL,
            ended REAL NOT NULL,
            times BLOB NOT NULL,
            low BLOB NOT NULL,
            high BLOB,
            mean BLOB,
            joined BLOB NOT NULL,
            PRIMARY KEY (owner, name, level, began)
        )""",
        """CREATE TRIGGER run_removed AFTER DELETE ON runs
            BEGIN DELETE FROM series WHERE owner = OLD.id; END""",
        """CREATE TRIGGER session_removed AFTER DELETE ON sessions
            BEGIN DELETE FROM series WHERE owner = OLD.id; END""",
    ),
    (  # 3: saved comparisons
        """CREATE TABLE comparisons (
            name TEXT PRIMARY KEY,
            saved REAL NOT NULL,
            runs TEXT NOT NULL,
            baseline TEXT NOT NULL
        ) WITHOUT ROWID""",
    ),
    (  # 4: what a run was called that is removed and still named by a comparison
        """CREATE TABLE removed (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL
        ) WITHOUT ROWID""",
        """CREATE TRIGGER compared_run_removed AFTER DELETE ON runs
            WHEN EXISTS (SELECT 1 FROM comparisons WHERE instr(runs, OLD.id))
            BEGIN INSERT OR REPLACE INTO removed VALUES (OLD.id, OLD.name); END""",
        """CREATE TRIGGER comparison_removed AFTER DELETE ON comparisons
            BEGIN DELETE FROM removed
                WHERE NOT EXISTS (SELECT 1 FROM comparisons WHERE instr(runs, removed.id)); END""",
    ),
)

VERSION = len(MIGRATIONS)
