"""Every action a person can take, in one table: bindings, footer, help, palette, `[keys]`.

To add one, add a row here and a method `action_<call>` on the screen it names (or on the app where
`call` begins with `app.`).
"""

# ruff: noqa: E501 - one action a line reads better than six
from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import NamedTuple

from eagletui.model.near import nearest

REPLAYED = ("connecting", "servers", "main", "log", "details", "help", "legend")
EVERYWHERE = (
    *("connecting", "servers", "main", "log", "details", "switch"),
    *("bench", "runs", "compare", "watched", "help", "legend"),
)
_WATCHING = ("main", "servers", "log", "details")
_OTHERS = ("switch", "bench", "runs", "compare", "watched")
GROUPS = (
    "Switch",
    "Benchmark",
    "Runs",
    "Log",
    "Details",
    "Servers",
    "Panels",
    "Time",
    "Replay",
    "Views",
    "Connection",
    "Program",
)


class Action(NamedTuple):
    """One thing to do.

    Attributes:
        id: stable name used by `[keys]` in config.toml.
        keys: default keys, Textual's names, comma separated; "" for the palette only.
        name: two words at most, for the footer and the palette.
        help: one sentence.
        group: heading in the help.
        where: screens that offer it.
        call: Textual action, on the screen unless it names the app.
        needs: what must be the case now; see `situation.py`.
        footer: rank in the footer line, 0 is first; None is not shown there.
    """

    id: str
    keys: str
    name: str
    help: str
    group: str
    where: tuple[str, ...]
    call: str
    needs: tuple[str, ...] = ()
    footer: int | None = None


# fmt: off
ACTIONS: tuple[Action, ...] = (
    Action("app.help", "question_mark,f1", "Help", "Show the keys of this screen.", "Program", EVERYWHERE, "app.help", (), 0),
    Action("app.quit", "q,ctrl+q", "Quit", "Leave. The server and the host are not touched.", "Program", EVERYWHERE, "app.quit", (), 90),
    Action("app.interrupt", "ctrl+c", "Interrupt", "Copy the selected text; pressed twice with nothing selected: quit.", "Program", EVERYWHERE, "app.interrupt"),
    Action("app.back", "escape", "Back", "Close this, or go back to the whole picture.", "Program", EVERYWHERE, "back", ("back",), 35),
    Action("app.palette", "ctrl+p,colon", "Commands", "Find any action by its name.", "Program", EVERYWHERE, "app.command_palette", (), 70),
    Action("app.legend", "f2", "Meanings", "What each number means and where it comes from.", "Program", EVERYWHERE, "app.legend"),
    Action("app.theme", "", "Theme", "Choose another theme; set `theme` in config.toml to keep it.", "Program", EVERYWHERE, "app.change_theme"),
    Action("app.screenshot", "f8", "Screenshot", "Save what is on the screen as an SVG file.", "Program", EVERYWHERE, "app.picture"),
    Action("link.retry", "r", "Reconnect", "Try to reach the host again now.", "Connection", EVERYWHERE, "app.reconnect", ("unlinked", "live"), 5),
    Action("switch.open", "s", "Switch", "Choose what the server runs with, see exactly what would change, and restart it.", "Switch", ("main", "servers", "log", "details"), "app.switch", ("switcher",), 15),
    Action("switch.before", "b", "Before", "Go back to the last launch that was ready before this one, also one of an earlier session.", "Switch", ("main",), "app.before", ("switcher",)),
    Action("switch.start", "enter", "Start", "Ask once, then start what is chosen in the place of what runs.", "Switch", ("switch",), "start", (), 1),
    Action("switch.back", "b", "Before", "Go back to the last launch that was ready before this one, also one of an earlier session.", "Switch", ("switch",), "before", (), 3),
    Action("switch.server", "1", "Server", "Focus the list of servers.", "Switch", ("switch",), "choose(1)"),
    Action("switch.speculative", "2", "Speculation", "Focus the list of speculative settings.", "Switch", ("switch",), "choose(2)"),
    Action("switch.environment", "3", "Environment", "Focus the list of environments.", "Switch", ("switch",), "choose(3)"),
    Action("switch.effect", "4", "Effect", "Focus what the choice would do; the arrows scroll it.", "Switch", ("switch",), "choose(4)", (), 2),
    Action("profile.import", "I", "Import", "Write what runs as a profile of yours, secrets left out.", "Switch", ("main", "log", "details", "switch"), "app.import_profile", ("switcher", "server")),
    Action("restart.cancel", "c", "Cancel restart", "Cancel the restart that goes on, or close what it said at its end.", "Switch", (*_WATCHING, *_OTHERS), "app.cancel_restart", ("restart",), 6),
    Action("restart.answer", "a", "Answer", "Answer whether what ran before is put back.", "Switch", (*_WATCHING, *_OTHERS), "app.answer_restart", ("asking",), 4),
    Action("restart.resume", "U", "Go on", "Go on with a launch that was left.", "Switch", ("main", "servers", "details"), "app.resume_restart", ("unfinished",), 7),
    Action("bench.open", "B", "Benchmark", "Measure what runs: tok/s, accept length, TTFT, cell by cell. It asks first.", "Benchmark", _WATCHING, "app.bench", ("measurable", "server"), 17),
    Action("bench.start", "enter", "Measure", "Ask once, then measure what is chosen.", "Benchmark", ("bench",), "start", ("choosing",), 1),
    Action("bench.less", "left", "Before", "The choice before, for the marked line.", "Benchmark", ("bench",), "cycle(-1)", ("choosing",)),
    Action("bench.more", "right", "Change", "The next choice for the marked line.", "Benchmark", ("bench",), "cycle(1)", ("choosing",), 2),
    Action("bench.type", "e", "Type", "Type a value for the marked line.", "Benchmark", ("bench",), "type", ("choosing",), 3),
    Action("bench.cancel", "x", "Cancel", "End the benchmark; what was measured is kept.", "Benchmark", ("bench",), "app.cancel_bench", ("measuring",), 1),
    Action("bench.again", "n", "New", "Choose again, and measure once more.", "Benchmark", ("bench",), "again", ("measured",), 2),
    Action("runs.open", "C", "Runs", "List what was measured and watched before, and put runs side by side.", "Runs", (*_WATCHING, "bench"), "app.runs", ("shelved",), 18),
    Action("runs.compare", "enter", "Compare", "Put what is marked side by side, or open what the cursor is on.", "Runs", ("runs",), "open", ("openable",), 1),
    Action("runs.mark", "space", "Mark", "Mark this run or session, or take the mark away; the cursor stays on it.", "Runs", ("runs",), "mark", ("markable",), 2),
    Action("runs.baseline", "b", "Baseline", "Measure the others against this run; once more lets the runs choose.", "Runs", ("runs",), "baseline", ("sound",), 3),
    Action("runs.note", "n", "Note", "Write notes on this run.", "Runs", ("runs",), "note", ("run",), 4),
    Action("runs.tag", "t", "Tags", "Put tags on this run, or take them off.", "Runs", ("runs",), "tag", ("run",), 5),
    Action("runs.rename", "N", "Name", "Give this run another name.", "Runs", ("runs",), "rename", ("run",), 6),
    Action("compare.baseline", "b", "Baseline", "Measure against the next of the runs.", "Runs", ("compare",), "baseline", ("compared",), 1),
    Action("compare.save", "w", "Save", "Keep this comparison under a name.", "Runs", ("compare",), "save", ("compared",), 2),
    Action("compare.markdown", "m", "Markdown", "Write a report that can be pasted into an issue.", "Runs", ("compare",), "report('md')", ("compared",), 3),
    Action("compare.html", "h", "HTML", "Write a report with pictures: one file, no scripts.", "Runs", ("compare",), "report('html')", ("compared",), 4),
    Action("servers.list", "S", "Servers", "List the servers found on this host.", "Servers", ("main", "log", "details"), "app.servers", (), 40),
    Action("servers.open", "enter", "Watch", "Watch the marked server.", "Servers", ("servers",), "open", ("servers",), 1),
    Action("servers.log", "o", "Log file", "Follow a log file by its path on the host (a glob takes the newest match).", "Servers", ("servers",), "ask_log", ("live",), 2),
    Action("servers.metrics", "u", "Metrics URL", "Read metrics from this address, as seen from the host.", "Servers", ("servers",), "ask_metrics", ("live",), 3),
    Action("view.log", "l", "Log", "Show the whole log.", "Views", ("main", "details"), "app.log", ("server",), 10),
    Action("view.details", "d,i", "Details", "Command line, environment, arguments, workers, and what could not be read.", "Views", ("main", "log"), "app.details", ("server",), 20),
    Action("view.startup", "g", "Start-up", "Show the phases of the start-up, or go back to the charts.", "Views", ("main",), "startup", ("ready",), 30),
    Action("panel.1", "1", "Accept length", "Focus the chart of the accept length; once more fills the screen.", "Panels", ("main",), "panel(1)", ("charts",)),
    Action("panel.2", "2", "Verify / step", "Focus the chart of verify latency or step time; once more fills the screen.", "Panels", ("main",), "panel(2)", ("charts",)),
    Action("panel.3", "3", "tok/s", "Focus the chart of tokens per second; once more fills the screen.", "Panels", ("main",), "panel(3)", ("charts",)),
    Action("panel.4", "4", "Numbers", "Focus requests, KV cache and latencies; once more fills the screen.", "Panels", ("main",), "panel(4)", ("charts",)),
    Action("panel.5", "5", "GPUs", "Focus the GPUs; once more fills the screen.", "Panels", ("main",), "panel(5)", ("server",)),
    Action("panel.6", "6", "Log tail", "Focus the end of the log; once more opens the whole log.", "Panels", ("main",), "panel(6)", ("server",)),
    Action("panel.fill", "m,enter", "Maximise", "Let the focused panel fill the screen, or shrink it again.", "Panels", ("main",), "fill", ("server",), 60),
    Action("time.window", "t", "Time window", "Cycle 1m, 5m, 15m, 1h, all.", "Time", ("main",), "window(1, True)", ("charts",), 50),
    Action("time.narrower", "left_square_bracket", "Shorter window", "Show a shorter span of time.", "Time", ("main",), "window(-1)", ("charts",)),
    Action("time.wider", "right_square_bracket", "Longer window", "Show a longer span of time.", "Time", ("main",), "window(1)", ("charts",)),
    Action("time.pause", "space", "Pause", "Hold the charts still, or let them run again. Nothing is lost meanwhile.", "Time", ("main",), "pause", ("charts",), 45),
    Action("time.back", "left", "Earlier", "While paused: move the charts a quarter window back.", "Time", ("main",), "scrub(-1)", ("paused",), 46),
    Action("time.forward", "right", "Later", "While paused: move the charts a quarter window on.", "Time", ("main",), "scrub(1)", ("paused",), 47),
    Action("rate.longer", "plus", "Scrape less", "Scrape metrics less often (up to every 30 s).", "Time", ("main",), "interval(1)", ("server", "live")),
    Action("rate.shorter", "minus", "Scrape more", "Scrape metrics more often (down to every 0.2 s).", "Time", ("main",), "interval(-1)", ("server", "live")),
    Action("replay.pause", "P", "Hold", "In a replay: hold it, or let it go on; at its end, begin again.", "Replay", REPLAYED, "app.replay_pause", ("replay",), 1),
    Action("replay.step", "full_stop", "Step", "In a replay: show what came next, and hold.", "Replay", REPLAYED, "app.replay_step", ("replay",), 2),
    Action("replay.back", "less_than_sign", "-10 s", "In a replay: ten seconds back.", "Replay", REPLAYED, "app.replay_seek(-10)", ("replay",), 3),
    Action("replay.forward", "greater_than_sign", "+10 s", "In a replay: ten seconds on.", "Replay", REPLAYED, "app.replay_seek(10)", ("replay",), 4),
    Action("replay.minute_back", "left_parenthesis", "-1 min", "In a replay: a minute back.", "Replay", REPLAYED, "app.replay_seek(-60)", ("replay",), 13),
    Action("replay.minute_on", "right_parenthesis", "+1 min", "In a replay: a minute on.", "Replay", REPLAYED, "app.replay_seek(60)", ("replay",), 14),
    Action("replay.slower", "left_curly_bracket", "Slower", "In a replay: half as fast.", "Replay", REPLAYED, "app.replay_speed(0.5)", ("replay",), 8),
    Action("replay.faster", "right_curly_bracket", "Faster", "In a replay: twice as fast.", "Replay", REPLAYED, "app.replay_speed(2.0)", ("replay",), 9),
    Action("log.search", "slash", "Search", "Find a regular expression; lower case finds both cases.", "Log", ("log",), "search", (), 1),
    Action("log.next", "n", "Next match", "Go to the next match.", "Log", ("log",), "next_match", ("search",), 2),
    Action("log.previous", "N", "Previous match", "Go to the match before.", "Log", ("log",), "previous_match", ("search",)),
    Action("log.include", "ampersand", "Filter in", "Show only lines that match.", "Log", ("log",), "include", (), 3),
    Action("log.exclude", "exclamation_mark", "Filter out", "Hide lines that match.", "Log", ("log",), "exclude", (), 4),
    Action("log.clear", "x", "Clear filters", "Show every line again.", "Log", ("log",), "clear", ("filtered",), 5),
    Action("log.level", "v", "Level", "Cycle the lowest level shown: all, info, warning, error.", "Log", ("log",), "level", (), 6),
    Action("log.follow", "f", "Follow", "Stay at the end as lines arrive. Scrolling up stops it.", "Log", ("log",), "follow", (), 7),
    Action("log.wrap", "w", "Wrap", "Wrap long lines, or cut them and scroll sideways.", "Log", ("log",), "wrap", (), 12),
    Action("log.next_error", "e", "Next error", "Go to the next error.", "Log", ("log",), "next_error", (), 8),
    Action("log.previous_error", "E", "Previous error", "Go to the error before.", "Log", ("log",), "previous_error"),
    Action("log.polls", "p", "Polls", "Show or hide requests for /metrics, /health and the like.", "Log", ("log",), "polls", (), 13),
    Action("log.bars", "b", "Bars", "Show or hide the steps of progress bars.", "Log", ("log",), "bars", (), 14),
    Action("log.phase", "J", "Jump to phase", "Choose a phase of the start-up and go to its first line.", "Log", ("log",), "phase", (), 9),
    Action("log.copy", "y", "Copy line", "Copy the marked line to the clipboard of your terminal (OSC 52).", "Log", ("log",), "copy", (), 15),
    Action("details.search", "slash", "Search", "Show only the lines that contain this text.", "Details", ("details",), "search", (), 1),
)
# fmt: on

# What an action is called while this is the case.
RENAMED: Mapping[str, tuple[str, str]] = {
    "time.pause": ("paused", "Go on"),
    "replay.pause": ("held", "Go on"),
    "view.startup": ("startup", "Charts"),
    "panel.fill": ("filled", "Shrink"),
    "restart.cancel": ("restarted", "Close"),
}

BY_ID: Mapping[str, Action] = {action.id: action for action in ACTIONS}

# What the footer shows however narrow it is, the first first: how to learn the rest, and how to
# leave the program and the screen.
ALWAYS = ("app.help", "app.quit", "app.back")

# How Textual names a character that is not a letter or a digit, where that differs from Unicode.
_RENAMED = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
_SHOWN = {
    "escape": "esc",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_parenthesis": "(",
    "right_parenthesis": ")",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "full_stop": ".",
    "question_mark": "?",
    "exclamation_mark": "!",
    "ampersand": "&",
    "slash": "/",
    "colon": ":",
    "plus": "+",
    "minus": "-",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
}


KEYS_ADVICE = (
    'A key is a character or a name: "s", "N", "/", "f5", "enter", "space", "left", "ctrl+s";'
    ' several with commas between: "f5,ctrl+s".'
)
# Keys that are no character; `ctrl+` and the like may stand before them.
NAMED_KEYS = frozenset(
    [
        *("enter", "escape", "space", "tab", "backspace", "delete", "insert"),
        *("home", "end", "pageup", "pagedown", "up", "down", "left", "right"),
        *(f"f{number}" for number in range(1, 25)),
    ]
)
NAMED_CHARACTERS = range(0x21, 0x250)  # of Latin scripts, by their Unicode names
MODIFIERS = ("ctrl", "shift", "alt", "meta", "super", "hyper")


class BadKey(ValueError):
    """An entry of `[keys]` that cannot be used; `action` is the entry's name."""

    def __init__(self, action: str, what: str, advice: str) -> None:
        super().__init__(what)
        self.action, self.what, self.advice = action, what, advice


def key_name(key: str) -> str:
    """Textual's name of a key as a person writes it: `/` is `slash`."""
    *modifiers, last = key.strip().split("+") if key.strip() != "+" else ["+"]
    if len(last) == 1 and not last.isalnum():
        name = unicodedata.name(last, last).lower().replace("-", "_").replace(" ", "_")
        last = _RENAMED.get(name, name)
    return "+".join([*modifiers, last])


def is_key(key: str) -> bool:
    """Whether a terminal may ever send what this names: a character, or a key with a name."""
    *modifiers, last = key_name(key).split("+")
    if not last or not all(modifier in MODIFIERS for modifier in modifiers):
        return False
    named = len(last) == 1 or last in NAMED_KEYS
    return named or any(key_name(chr(number)) == last for number in NAMED_CHARACTERS)


def key_shown(key: str) -> str:
    """A key as a person reads it: `slash` is `/`, `ctrl+p` is `^p`."""
    key = key_name(key)
    if key.startswith("ctrl+"):
        return "^" + key_shown(key[5:])
    return _SHOWN.get(key, key)


def keys_of(action: Action, changed: Mapping[str, str]) -> tuple[str, ...]:
    """The keys of an action after the person's changes."""
    text = changed.get(action.id, action.keys)
    return tuple(key_name(key) for key in text.split(",") if key.strip()) if text != "," else (",",)


def first_key(name: str, changed: Mapping[str, str]) -> str:
    """The first key of the action of this id, as a person reads it."""
    keys = keys_of(BY_ID[name], changed)
    return key_shown(keys[0]) if keys else name


def name_of(action: Action, facts: frozenset[str]) -> str:
    """The action's name as things are now."""
    fact, name = RENAMED.get(action.id, ("", ""))
    return name if fact in facts else action.name


def actions_of(screen: str) -> tuple[Action, ...]:
    """What a screen offers, in the order of `GROUPS`."""
    offered = (action for action in ACTIONS if screen in action.where)
    return tuple(sorted(offered, key=lambda action: GROUPS.index(action.group)))


def check_keys(changed: Mapping[str, str]) -> None:
    """Refuse unknown actions and two actions of one screen on one key.

    Raises:
        BadKey: naming the entry.
    """
    for name, keys in changed.items():
        if name not in BY_ID:
            near = nearest(name, BY_ID, cutoff=0.4)
            advice = f'Did you mean "{near}"?' if near else "`?` lists every action's name."
            raise BadKey(name, f'there is no action "{name}"', advice)
        if keys == ",":
            continue
        for key in keys.split(","):
            if not key.strip():
                raise BadKey(name, f'"{keys}" holds an empty key', KEYS_ADVICE)
            if not is_key(key):
                raise BadKey(name, f'"{key.strip()}" is not a key', KEYS_ADVICE)
    for screen in EVERYWHERE:
        owner: dict[str, Action] = {}
        for action in actions_of(screen):
            for key in keys_of(action, changed):
                other = owner.setdefault(key, action)
                if other is action:
                    continue
                at_fault, loser = (action, other) if action.id in changed else (other, action)
                raise BadKey(
                    at_fault.id,
                    f'key "{key_shown(key)}" would do both "{at_fault.id}" and "{loser.id}"'
                    f" on the {screen} screen",
                    f'Choose another key, or move "{loser.id}" as well.',
                )
