"""Requests and answers over one channel to a program on the host.

Each is one line of JSON, a request `{"id": 3, "within": 20.0, …}`, its answer
`{"id": 3, "answer": {…}}`. An id is used once, so that an answer which comes twice, or too late, is
never taken for another request's; and a line is an answer only when it is whole.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from eagletui.control.problems import GARBLED, problem
from eagletui.host.channel import Channel
from eagletui.host.within import within
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.errors import CommandTimeout, EagletuiError, HostError
from eagletui.model.jsontext import read_json

LONGEST = 8 << 20
"""Bytes of one answer."""
_NO_PROGRAM = 127


class AgentRefused(EagletuiError):
    """The host's agent did not do what it was asked, for the reason in `diagnosis`."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__(diagnosis.title, advice=diagnosis.advice)
        self.diagnosis = diagnosis


def garbled(detail: str) -> AgentRefused:
    """There was no answer, so what was asked for may have been done or not."""
    return AgentRefused(problem(GARBLED, {"detail": detail}))


class Conversation:
    """Any number of requests at once; over with the channel's end."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._asked = 0
        self._heard = b""
        self._answered = False
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reading = asyncio.ensure_future(self._read())

    @property
    def over(self) -> bool:
        """Whether nothing more can be asked."""
        return self._reading.done()

    async def ask(self, request: Mapping[str, Any], limit: float) -> dict[str, Any]:
        """The answer. A request whose answer nobody waits for any more is done all the same.

        For so long as it waits the host shows that the lock of the request's owner is in use.

        Raises:
            AgentRefused: the program, or the child that did it, ended without an answer.
            CommandTimeout: there was none within `limit` seconds; the host ends what it was at.
            HostError: the connection was lost.
        """
        self._asked += 1
        number = self._asked
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._write({"id": number, "within": limit, **request})
        try:
            return await within(answer, limit)
        except asyncio.TimeoutError as error:
            self._write({"drop": number})
            raise CommandTimeout(
                f"The host did not answer within {limit:g} s.",
                meaning="It is overloaded, or something there hangs.",
                advice="What it was at was ended.",
            ) from error
        finally:
            del self._waiting[number]

    def close(self) -> None:
        """The program ends; what its children are at they bring to an end."""
        self._reading.cancel()
        self._channel.close()

    def _write(self, document: Mapping[str, Any]) -> None:
        self._channel.write(json.dumps(document).encode("ascii") + b"\n")

    async def _read(self) -> None:
        why: EagletuiError = garbled("the conversation was closed")
        try:
            while data := await self._channel.read():
                *lines, self._heard = (self._heard + data).split(b"\n")
                for line in lines:
                    self._take(line)
                if len(self._heard) > LONGEST:
                    raise garbled(f"more than {LONGEST} bytes")
            await self._channel.wait_closed()
            why = self._end()
        except (HostError, AgentRefused) as error:
            why = error
        finally:
            self._channel.close()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(why)

    def _take(self, line: bytes) -> None:
        try:
            told = read_json(line)
            answer = self._waiting.get(told["id"])
            found, ended = told.get("answer"), told.get("ended", "")
        except (ValueError, TypeError, KeyError, AttributeError):
            raise garbled(_text(line)) from None
        self._answered = True
        if answer is None or answer.done():
            return
        if isinstance(found, dict):
            answer.set_result(found)
        else:
            answer.set_exception(garbled(str(ended)))

    def _end(self) -> AgentRefused:
        """Why it is over, as far as the program said."""
        said = bytes(self._channel.stderr) or self._heard
        if self._channel.status == _NO_PROGRAM and not self._heard and not self._answered:
            return AgentRefused(problem("no-python", {}))
        return garbled(_text(said) or f"status {self._channel.status}")


def _text(said: bytes) -> str:
    return said.decode("utf-8", "replace").strip()[-300:]
