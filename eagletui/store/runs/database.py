"""The SQLite file: opened, brought to the newest schema, read and written in transactions.

WAL: readers go on beside the one writer, of this program or of another; a writer waits its turn. A
transaction is on the disk (`synchronous=FULL`) when it ends, so that whoever dies afterwards, by
SIGKILL or with the machine, loses nothing of it, and of an unfinished one nothing is left.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from eagletui.store.runs.errors import RunsDamaged, RunsNewer, RunsReadOnly, spoken
from eagletui.store.runs.schema import APPLICATION_ID, MIGRATIONS, VERSION

BUSY_SECONDS = 10.0


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class Database:
    """One connection, for any number of threads, one at a time.

    A file that can't be written is opened for reading, and one that is neither there nor can be
    made reads as an empty one: then `read_only` says so.

    Args:
        path: the file; it and its folder are made, readable by their owner alone.
        busy: seconds to wait for another writer.

    Raises:
        RunsError: it is newer, damaged, another program's, or can't even be read.
    """

    def __init__(self, path: Path, *, busy: float = BUSY_SECONDS) -> None:
        self.path = path
        self.read_only = False
        self._busy = busy
        self._lock = threading.RLock()
        try:
            self._connection = self._opened()
        except (sqlite3.Error, OSError) as error:
            raise spoken(error, path, "opened") from error

    def close(self) -> None:
        """Give the file back; a second time does nothing."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One consistent view, also while another program writes.

        Raises:
            RunsError: the file can't be read.
        """
        with self._transaction("BEGIN", "read") as connection:
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """All of it, or nothing of it where an exception leaves the block; may be nested.

        Raises:
            RunsError: the file can't be written; what it held it still holds.
        """
        if self.read_only:
            raise spoken(sqlite3.OperationalError("readonly"), self.path, "kept")
        with self._transaction("BEGIN IMMEDIATE", "kept") as connection:
            yield connection

    @contextlib.contextmanager
    def _transaction(self, begin: str, doing: str) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._connection.in_transaction:
                # A part of a larger one of this thread's: it ends with that.
                yield self._connection
                return
            try:
                self._connection.execute(begin)
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                except BaseException:
                    # A full disk has rolled it back already.
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise spoken(error, self.path, doing) from error

    # --- opening ----------------------------------------------------------------------------------

    def _opened(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            return self._ready(self._connected("rw"))
        except (OSError, sqlite3.OperationalError) as error:
            if not isinstance(spoken(error, self.path, "opened"), RunsReadOnly):
                raise
            return self._opened_to_read(error)

    def _opened_to_read(self, why: Exception) -> sqlite3.Connection:
        self.read_only = True
        if not self.path.exists():
            return self._ready(
                sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            )
        try:
            return self._checked(self._connected("ro"))
        except sqlite3.OperationalError:
            # Without a writable folder WAL needs its index file; the file alone is whole where
            # nothing waits in the log.
            log = self.path.with_name(f"{self.path.name}-wal")
            if log.exists() and log.stat().st_size:
                raise RunsReadOnly(
                    f"The runs in {self.path} could not be read.",
                    meaning="The folder can't be written, and the newest runs are still in "
                    f"{log.name} beside the file. Nothing is lost.",
                    advice="Make the folder writable, or copy both files into one that is and let "
                    "EAGLETUI_DATA name it.",
                ) from why
            return self._checked(self._connected("ro&immutable=1"))

    def _connected(self, mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.resolve().as_uri()}?mode={mode}",
            uri=True,
            timeout=self._busy,
            isolation_level=None,
            check_same_thread=False,
        )
        # One text that is no UTF-8 would end the reading of all rows.
        connection.text_factory = _text
        return connection

    def _checked(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        """Refuse what can't be read; an older schema is read where it can be written first."""
        try:
            if self._version(connection) < VERSION:
                raise RunsReadOnly(
                    f"The runs in {self.path} are in an older format, and it can't be changed.",
                    meaning="The file or its folder is read-only. Nothing is lost.",
                    advice="Copy it into a folder that is writable and let EAGLETUI_DATA name it.",
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _ready(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            # Asked before WAL is switched on, which would write into another program's file.
            version = self._version(connection)
            self._switch_to_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            if version < VERSION:
                self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _switch_to_wal(self, connection: sqlite3.Connection) -> None:
        """SQLite doesn't wait for another that is doing the same to a new file; this does."""
        deadline = time.monotonic() + self._busy
        while not self._wal(connection, last=time.monotonic() > deadline):
            time.sleep(0.01)

    def _wal(self, connection: sqlite3.Connection, *, last: bool) -> bool:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if last or "locked" not in str(error):
                raise
            return False
        return True

    def _version(self, connection: sqlite3.Connection) -> int:
        # One view of all three: another eagletui may be making the tables at this moment.
        alone = not connection.in_transaction
        if alone:
            connection.execute("BEGIN")
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        application: int = connection.execute("PRAGMA application_id").fetchone()[0]
        if alone:
            connection.execute("COMMIT")
        if application != APPLICATION_ID and (tables or version or application):
            raise RunsDamaged(
                f"{self.path} is no database of runs.",
                meaning="It is another program's SQLite file. It was not changed.",
                advice="Move it away, or let EAGLETUI_DATA name another folder.",
            )
        if version > VERSION:
            raise RunsNewer(
                f"The runs in {self.path} were written by a newer eagletui.",
                meaning=f"They are in format {version}; this eagletui knows {VERSION}. They were "
                "not changed.",
                advice="Update eagletui, or let EAGLETUI_DATA name another folder for this one.",
            )
        return version

    def _migrate(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another eagletui may have done it while this one waited.
            for step in MIGRATIONS[self._version(connection) :]:
                for statement in step:
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
