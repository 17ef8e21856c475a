"""`eagletui doctor`: is everything there that the program needs."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from eagletui.cli.asking import TerminalAsker
from eagletui.cli.checks import (
    Finding,
    check_charts,
    check_folders,
    check_host,
    check_python,
    check_settings,
    check_ssh_config,
    check_terminal,
    check_themes,
)
from eagletui.cli.options import chosen_target, host_options, json_option, watch_options
from eagletui.cli.output import echo_json
from eagletui.model.errors import ConfigError, EagletuiError
from eagletui.model.text import visible

if TYPE_CHECKING:
    from eagletui.tui.theme import Themes

GLYPHS = {"ok": "✔", "warning": "▲", "failed": "✖", "skipped": "–"}


@click.command()
@host_options
@watch_options
@json_option
@click.pass_context
def doctor(
    ctx: click.Context,
    host: str | None,
    local: bool,
    ssh_config: tuple[str, ...],
    log_path: str | None,
    metrics_url: str | None,
    pid: int | None,
    api_key_env: str | None,
    as_json: bool,
) -> None:
    """Check this machine and, with --host or --local, the host and its servers.

    Ends with 1 where something failed; a warning is not a failure.
    """
    from eagletui.store.places import PLACES
    from eagletui.tui.theme import every_theme

    themes = every_theme()
    findings: list[Finding] = [
        check_python(),
        check_charts(),
        check_terminal(os.environ),
        check_settings(lambda path: _load(path, themes), PLACES["config file"]()),
        *check_themes(themes.problems),
        *check_folders(),
    ]
    if not local:
        from eagletui.host.config import default_files
        from eagletui.host.matchexec import unexpanded

        files = ssh_config or default_files()
        findings.append(check_ssh_config(files, unexpanded(files)))
    if host or local:
        from eagletui.cli.connect import make_monitor, wanted_from
        from eagletui.monitor.look import look

        monitor = make_monitor(
            chosen_target(host, local),
            wanted=wanted_from(log=log_path, metrics=metrics_url, pid=pid, api_key_env=api_key_env),
            asker=TerminalAsker(),
            ssh_config=ssh_config,
        )
        try:
            findings += check_host(asyncio.run(look(monitor)))
        except EagletuiError as error:
            advice = " ".join(part for part in (error.meaning, error.advice) if part)
            findings.append(
                Finding(name="connection", result="failed", detail=error.what, advice=advice)
            )
    if as_json:
        echo_json({"findings": [msgspec.to_builtins(finding) for finding in findings]})
    else:
        _say(findings)
    if any(finding.result == "failed" for finding in findings):
        ctx.exit(1)


def _load(path: Path, themes: Themes) -> None:
    """Read the settings; the theme they name must be there.

    Raises:
        ConfigError: naming file and line.
    """
    from eagletui.tui.config import Settings, load_settings, where_set
    from eagletui.tui.theme import refuse_unknown

    settings = load_settings(path)
    if settings.theme != Settings().theme:
        refuse_unknown(settings.theme, themes, ConfigError, where_set("theme", path))


def _say(findings: list[Finding]) -> None:
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        glyph = GLYPHS[finding.result]
        click.echo(f"{glyph} {finding.name:<{width}}  {visible(finding.detail)}")
        if finding.advice:
            click.echo(f"  {'':<{width}}  → {visible(finding.advice)}")
