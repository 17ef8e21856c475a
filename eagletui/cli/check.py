"""`eagletui check`: what to know before a server is started."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from eagletui.cli.options import chosen_target, host_options, json_option
from eagletui.cli.output import echo_json
from eagletui.engine.check.run import check as checked
from eagletui.engine.releases import Range, Version
from eagletui.model.errors import UsageError
from eagletui.model.finding import Finding, FindingSeverity, HostFacts
from eagletui.model.profile import StartPlan
from eagletui.model.references import mask_start, mask_start_environment
from eagletui.model.text import visible

if TYPE_CHECKING:
    pass

GLYPHS: dict[FindingSeverity, str] = {"error": "✖", "warning": "▲", "info": "·"}
_VARIABLE = re.compile(r"(?a)([A-Za-z_]\w*)=(.*)", re.DOTALL)


class WordsAfterDashes(click.Command):
    """Keeps the words after `--` apart: they are a command line, not profiles."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta["command line"] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


@click.command(cls=WordsAfterDashes, options_metavar="[OPTIONS]")
@click.argument("profile", required=False)
@click.option("--sglang", metavar="RELEASE", help="The SGLang that will run, like 0.5.16.")
@host_options
@json_option
@click.pass_context
def check(
    ctx: click.Context,
    profile: str | None,
    sglang: str | None,
    host: str | None,
    local: bool,
    ssh_config: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check a profile, or after -- a command line, before anything is started.

    Offline by what is known of SGLang's releases (of all of them, where --sglang names none); with
    --host or --local also by the host's own SGLang, its models, port, GPUs and disk. Nothing is
    changed. Ends with 1 where the server would refuse or fail.
    """
    plan = _plan(profile, ctx.meta.get("command line"))
    release = _release(sglang)
    facts = _facts(plan, chosen_target(host, local), ssh_config) if host or local else None
    findings = checked(plan, release=release, facts=facts)
    failed = any(finding.severity == "error" for finding in findings)
    if as_json:
        echo_json(check_document(plan, findings, facts))
    else:
        for line in check_lines(findings, _for(release, facts)):
            click.echo(visible(line))
    if failed:
        ctx.exit(1)


def check_document(
    plan: StartPlan, findings: Sequence[Finding], facts: HostFacts | None = None
) -> dict[str, Any]:
    """The contract of `check --json`."""
    return {
        "ok": not any(finding.severity == "error" for finding in findings),
        "sglang": facts.version or None if facts else None,
        "command": list(mask_start(plan.argv)),
        "environment": mask_start_environment(plan.environment),
        "findings": [
            {
                "code": finding.code,
                "severity": finding.severity,
                "path": visible(finding.path),
                "message": visible(finding.message),
                "advice": visible(finding.advice),
            }
            for finding in findings
        ],
    }


def check_lines(findings: Sequence[Finding], what: str) -> list[str]:
    """The findings for a person, the worst first, and a summary."""
    lines = []
    for finding in findings:
        lines.append(f"{GLYPHS[finding.severity]} {finding.code}  {finding.path}")
        lines.append(f"    {finding.message}")
        if finding.advice:
            lines.append(f"    → {finding.advice}")
    counts = [
        f"{count} {severity}{'s' if count > 1 and severity != 'info' else ''}"
        for severity in GLYPHS
        if (count := sum(finding.severity == severity for finding in findings))
    ]
    lines.append(f"{what}: {', '.join(counts) or 'nothing to say'}")
    return lines


def _plan(profile: str | None, words: tuple[str, ...] | None) -> StartPlan:
    if (profile is None) == (words is None):
        raise UsageError(
            "One thing is checked.", advice="Name a profile, or a command line after `--`."
        )
    if words is not None:
        return plan_of_words(words)
    assert profile is not None
    from datetime import datetime

    from eagletui.cli.shelf import all_profiles
    from eagletui.engine.start_plan import start_plan

    return start_plan(all_profiles().load(profile), now=datetime.now().astimezone())


def plan_of_words(words: Sequence[str]) -> StartPlan:
    """A command line as a shell has split it, `NAME=value` words before it included.

    Raises:
        UsageError: there is no command.
    """
    from eagletui.engine.command import parse_command

    rest = list(words)
    environment: dict[str, str] = {}
    if rest[:1] == ["env"]:
        del rest[0]
    while rest and (found := _VARIABLE.fullmatch(rest[0])):
        environment[found[1]] = found[2]
        del rest[0]
    if not rest:
        raise UsageError(
            "There is no command line after `--`.",
            advice="Write it as for a shell: -- python -m sglang.launch_server --model-path …",
        )
    return StartPlan(argv=tuple(rest), environment=environment, port=parse_command(rest).port)


def _release(text: str | None) -> Version | None:
    if text is None:
        return None
    try:
        return Version(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is no release of SGLang.", advice="Write it like 0.5.16 or 0.5.10.post1."
        ) from None


def _for(release: Version | Range | None, facts: HostFacts | None) -> str:
    if facts is not None and facts.version:
        return f"for SGLang {facts.version} of this host"
    return (
        f"for SGLang {release.text}"
        if release is not None and release.text
        else ("for every release of SGLang that is known")
    )


def _facts(plan: StartPlan, target: str | None, ssh_config: Sequence[str]) -> HostFacts:
    import asyncio  # a third of an offline check's time

    from eagletui.cli.reaching import connected, facts_for

    async def ask() -> HostFacts:
        async with connected(target, ssh_config) as host:
            return await facts_for(host, plan)

    return asyncio.run(ask())
