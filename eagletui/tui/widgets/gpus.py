"""GPUs, as dense as nvitop: utilisation, power and memory of each in one line."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size

from eagletui.model.server import Gpu
from eagletui.tui import words
from eagletui.tui.draw import NOTHING, bar, fit, line, page
from eagletui.tui.view import View
from eagletui.tui.widgets.panel import Panel

MARK = "*"
MARK_MEANS = f"{MARK} used by this server"


class Gpus(Panel):
    """One line a GPU; the selected server's own are marked, where others are beside them."""

    _said: str | None = None

    def depends_on(self, view: View) -> tuple[object, ...]:
        """The GPUs, and which are the server's."""
        mine = view.server.process.gpus if view.server else ()
        return view.state.gpus, view.state.gpus_detail, mine, view.ascii_only

    def draw(self, view: View, size: Size) -> Content:
        state = view.state
        if (said := whose(view)) != self._said:
            self._said = said
            self.border_subtitle = said
        width, height = max(16, size.width), max(1, size.height)
        if not state.gpus:
            return line((state.gpus_detail or "no GPU reading yet", "$quiet"))
        mine = marked(view)
        gpus = sorted(state.gpus, key=lambda gpu: (gpu.index not in mine, gpu.index))
        if height == 1 or (len(gpus) > 1 and height < min(3, len(gpus))):
            return gpus_summary(gpus, width)
        room = height
        heads = height > len(gpus)
        lines = [gpu_heading(width)] if heads else []
        room -= len(lines)
        shown = gpus if len(gpus) <= room else gpus[: room - 1]
        lines += [gpu_line(gpu, width, gpu.index in mine, view.ascii_only) for gpu in shown]
        if len(shown) < len(gpus):
            told = f"   {MARK_MEANS}" if mine else ""
            text = f"+ {len(gpus) - len(shown)} more: 5{told}"
            lines.append(line((fit(text, width).rstrip(), "$quiet")))
        roomy = height - len(lines)
        names = {gpu.name for gpu in gpus if gpu.name}
        if roomy >= 2 and names:
            lines += [Content(""), line((fit(", ".join(sorted(names)), width).rstrip(), "$quiet"))]
        return page(lines)


def marked(view: View) -> set[int]:
    """The GPUs of this server, where some are not: a mark on every line would say nothing."""
    mine = set(view.server.process.gpus) if view.server else set()
    return mine if any(gpu.index not in mine for gpu in view.state.gpus) else set()


def whose(view: View) -> str | None:
    """What the border says of the marks."""
    if marked(view):
        return MARK_MEANS
    server, count = view.server, len(view.state.gpus)
    if server is None or not count or not server.process.gpus:
        return None
    return "used by this server" if count == 1 else f"all {count} used by this server"


def _columns(width: int) -> tuple[int, bool, bool]:
    """(cells for the two bars together, temperature shown, power limit shown)."""
    limit, temperature = width >= 48, width >= 56
    fixed = 3 + 5 + (10 if limit else 6) + (5 if temperature else 0) + 12
    return max(0, width - fixed), temperature, limit


def gpu_heading(width: int) -> Content:
    """Names over the columns."""
    bars, temperature, limit = _columns(width)
    left, right = bars // 2, bars - bars // 2
    text = fit("", 3) + fit("util", left + 5)
    text += fit("power W" if limit else "W", 10 if limit else 6, "right")
    text += fit("°C", 5, "right") if temperature else ""
    text += fit(" " + "mem GiB", right + 12)
    return line((fit(text, width).rstrip(), "$quiet"))


def gpu_line(gpu: Gpu, width: int, mine: bool, ascii_only: bool) -> Content:
    """Index, utilisation, power of limit, temperature, memory of total."""
    bars, temperature, limit = _columns(width)
    left, right = bars // 2, bars - bars // 2
    power = words.number(gpu.power)
    if limit and gpu.power_limit is not None:
        power += f"/{gpu.power_limit:.0f}"
    used = (
        gpu.memory_used / gpu.memory_total
        if gpu.memory_used is not None and gpu.memory_total
        else None
    )
    memory = f"{_gib(gpu.memory_used)}/{_gib(gpu.memory_total)}"
    util = NOTHING if gpu.utilization is None else f"{gpu.utilization:.0f} %"
    return line(
        (fit(f"{gpu.index}{MARK if mine else ''}", 3), "bold" if mine else ""),
        (
            bar(
                None if gpu.utilization is None else gpu.utilization / 100,
                left,
                ascii_only,
                thin=True,
            ),
            "$success",
        ),
        (fit(util, 5, "right"), "bold"),
        (fit(power, 10 if limit else 6, "right"), "$warning" if gpu.throttled else ""),
        (fit(words.number(gpu.temperature), 5, "right") if temperature else "", ""),
        " ",
        (bar(used, right, ascii_only, thin=True), "$primary"),
        (fit(memory, 11, "right"), ""),
    )


def _gib(mib: float | None) -> str:
    return NOTHING if mib is None else f"{mib / 1024:.0f}" if mib >= 10240 else f"{mib / 1024:.1f}"


def gpus_summary(gpus: list[Gpu], width: int) -> Content:
    """All of them in one line."""
    utils = [gpu.utilization for gpu in gpus if gpu.utilization is not None]
    power = [gpu.power for gpu in gpus if gpu.power is not None]
    used = [gpu.memory_used for gpu in gpus if gpu.memory_used is not None]
    total = [gpu.memory_total for gpu in gpus if gpu.memory_total is not None]
    parts = [words.count(len(gpus), "GPU")]
    if utils:
        spread = (
            f"{min(utils):.0f}–{max(utils):.0f}"
            if max(utils) - min(utils) >= 1
            else f"{max(utils):.0f}"
        )
        parts.append(f"util {spread} %")
    if power:
        parts.append(f"{sum(power):,.0f} W")
    if used and total:
        parts.append(f"mem {words.gib(sum(used))}/{words.gib(sum(total))} GiB")
    return line(fit("  ".join(parts), width).rstrip())
