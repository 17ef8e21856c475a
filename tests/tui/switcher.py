"""A switcher without a host: what it answers is given, what it was asked is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping

from msgspec.structs import replace

from eagletui.model.diagnosis import Diagnosis
from eagletui.model.errors import EagletuiError
from eagletui.model.finding import Finding
from eagletui.model.profile import Guard
from eagletui.model.restart import RestartState, Standing
from eagletui.model.switching import (
    Before,
    Change,
    Choice,
    Kept,
    Lock,
    LockHeld,
    Menu,
    Moment,
    Preview,
    ProfileTaken,
    Row,
    SwitchRefused,
    Unfinished,
)
from tests.tui.scenes import ARGV, NOW

MENU = Menu(
    servers=(
        Row(runs=True),
        Row(name="kimi-k2.5", title="Kimi-K2.5 on 8 GPUs over PCIe, EAGLE3", whole=True),
    ),
    speculative=(
        Row(runs=True),
        Row(name="chain-3", title="chain: 3 steps, 4 draft tokens", runs=True),
        Row(name="chain-5", title="chain: 5 steps, 6 draft tokens"),
        Row(name="speculation-off", title="no speculation"),
    ),
    environments=(Row(runs=True), Row(name="pcie-ll-ring", title="NCCL over PCIe: LL and Ring")),
    runs="kimi-k2.5",
    back="kimi-k2.5+chain-2",
)
CHANGES = {
    "chain-5": (
        Change(where="flag", name="--speculative-num-steps", before="3", after="5"),
        Change(where="flag", name="--speculative-num-draft-tokens", before="4", after="6"),
    ),
    "speculation-off": (
        Change(where="flag", name="--speculative-algorithm", before="EAGLE3", after=None),
        Change(where="flag", name="--speculative-num-steps", before="3", after=None),
    ),
    "pcie-ll-ring": (
        Change(where="environment", name="NCCL_ALGO", before="Tree", after="Ring"),
        Change(where="environment", name="NCCL_PROTO", before=None, after="LL"),
    ),
}
WARNING = Finding(
    code="decode-log-interval",
    severity="warning",
    path="server.flags.decode-log-interval",
    message="The server tells its accept length every 40 steps, which is coarse.",
    advice="Set decode-log-interval = 10.",
)
ERROR = Finding(
    code="draft-missing",
    severity="error",
    path="speculative.draft-model-path",
    message="EAGLE3 needs a draft model, and none is named.",
    advice="Set draft-model-path.",
)
DIED = Diagnosis(
    code="out-of-memory",
    severity="fatal",
    title="The GPU ran out of memory while loading.",
    evidence="torch.OutOfMemoryError: CUDA out of memory.",
    advice="Lower mem-fraction-static.",
)


class FakeSwitcher:
    """Answers from what it is given; a test moves its restart by `tell` and `end`."""

    def __init__(
        self,
        menu: Menu = MENU,
        *,
        findings: Mapping[str, tuple[Finding, ...]] | None = None,
        guard: Guard | None = None,
        left: tuple[Unfinished, ...] = (),
        fails: EagletuiError | None = None,
    ) -> None:
        self._menu = menu
        self._findings = findings or {}
        self._guard = guard or Guard()
        self._fails = fails
        self.left = left
        self.taken: frozenset[str] = frozenset()
        self.keeps: EagletuiError | None = None
        self.held: Lock | None = None
        self.wishes: list[tuple[str, object]] = []
        self._moments: asyncio.Queue[Moment | None] = asyncio.Queue()
        self.standing = Standing(replaces=True)
        self.name = ""

    async def menu(self, pid: int | None, version: str = "") -> Menu:
        """As given."""
        self.wishes.append(("menu", (pid, version)))
        if self._fails is not None:
            raise self._fails
        return self._menu

    async def preview(self, choice: Choice, *, ask: bool) -> Preview:
        """Changes of the rows that were chosen."""
        parts = [n for n in (choice.server, choice.speculative, choice.environment) if n]
        name = self._menu.back if choice.back else "+".join([self._menu.runs, *parts])
        return Preview(
            choice=choice,
            name=name,
            changes=tuple(change for part in parts for change in CHANGES.get(part, ())),
            command=tuple(ARGV[:8]),
            environment={"NCCL_ALGO": "Ring"},
            port=30000,
            replaces=4242,
            findings=tuple(found for part in parts for found in self._findings.get(part, ())),
            asked=ask,
            guard=self._guard,
            load=423.0,
            launches=4,
            before=Before(name=self._menu.back, at=NOW - 3600) if choice.back else None,
        )

    async def begin(
        self, choice: Choice, *, break_lock: bool = False
    ) -> AsyncGenerator[Moment, None]:
        """Moments as the test tells them."""
        if break_lock:
            self.wishes.append(("break", choice))
        if choice.environment == "refused":
            raise SwitchRefused("Refused.")
        self.wishes.append(("begin", choice))
        async for moment in self._stream("kimi-k2.5+chain-5"):
            yield moment

    async def lock(self) -> Lock | None:
        """As given."""
        return self.held

    async def resume(
        self, launch: str, *, break_lock: bool = False
    ) -> AsyncGenerator[Moment, None]:
        """The same for a launch that was left."""
        if self.held is not None and not break_lock:
            raise LockHeld("held")
        if break_lock:
            self.wishes.append(("break", launch))
        self.wishes.append(("resume", launch))
        async for moment in self._stream(f"launch {launch}"):
            yield moment

    async def _stream(self, name: str) -> AsyncGenerator[Moment, None]:
        self.name = name
        try:
            while (moment := await self._moments.get()) is not None:
                yield moment
        finally:
            self.wishes.append(("left", name))

    def tell(self, state: RestartState, detail: str = "", **changes: object) -> None:
        """The restart stands here now."""
        self.standing = replace(self.standing, state=state, **changes)
        self._moments.put_nowait(moment(self.standing, detail, name=self.name))
        if self.standing.final:
            self._moments.put_nowait(None)

    def cancel(self) -> None:
        """Remember."""
        self.wishes.append(("cancel", None))

    def answer(self, put_back: bool) -> None:
        """Remember."""
        self.wishes.append(("answer", put_back))

    async def profile_name(self, pid: int) -> str:
        """The model's."""
        return "kimi-k2.5"

    async def keep(self, pid: int, name: str, *, over: bool = False) -> Kept:
        """As given."""
        self.wishes.append(("keep", (pid, name, over)))
        if self.keeps is not None:
            raise self.keeps
        if name in self.taken and not over:
            raise ProfileTaken(name, f"/home/me/profiles/{name}.toml")
        self._menu = replace(
            self._menu, servers=(*self._menu.servers, Row(name=name, title="imported", whole=True))
        )
        return Kept(name=name, path=f"/home/me/profiles/{name}.toml", notes=("PATH was kept.",))

    async def unfinished(self) -> tuple[Unfinished, ...]:
        """As given."""
        return self.left

    def made(self, kind: str) -> list[object]:
        """Wishes of this kind."""
        return [what for name, what in self.wishes if name == kind]


def moment(standing: Standing, detail: str = "", *, name: str = "kimi-k2.5+chain-5") -> Moment:
    """A restart that has gone on for 42 s at the scenes' moment."""
    return Moment(
        at=NOW,
        began=NOW - 42,
        launch="20260120-025918-abc123",
        name=name or "kimi-k2.5+chain-5",
        standing=standing,
        detail=detail,
    )
