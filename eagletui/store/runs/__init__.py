"""Measured runs, the series of live sessions and saved comparisons: one SQLite file.

Everything here is synchronous and may wait for a disk or for another eagletui that is writing: code
on an event loop calls it through `asyncio.to_thread`. One `Database` may be used by many threads.
"""
