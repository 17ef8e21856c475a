"""All rules over one start, for one release or for all that it could be."""

from __future__ import annotations

from eagletui.engine.check.situation import Situation
from eagletui.engine.check.table import RULES
from eagletui.engine.flags.table import RELEASES
from eagletui.engine.releases import Range, Version, told_version
from eagletui.model.finding import Finding, FindingSeverity, HostFacts
from eagletui.model.profile import StartPlan

ORDER: dict[FindingSeverity, int] = {"error": 0, "warning": 1, "info": 2}


def check(
    plan: StartPlan, *, release: Version | Range | None = None, facts: HostFacts | None = None
) -> tuple[Finding, ...]:
    """What to know before this start, the worst first.

    Args:
        release: the SGLang that will run. With a range, or None for no idea, every release that was
            read in it is looked at; what holds only for some of them says so and is no error.
        facts: what the host said; its version and options come before `release` and the tables.
    """
    facts = facts or HostFacts()
    known = told_version(facts.version)
    if known is not None:
        release = known
    if isinstance(release, Version):
        return _sorted(_check(plan, release, facts))
    releases = [Version(text) for text in RELEASES if release is None or text in release]
    if not releases:
        assert release is not None
        return _sorted(_check(plan, Version(release.since or release.until or RELEASES[-1]), facts))
    return _sorted(_joined(plan, releases, facts))


def _check(plan: StartPlan, release: Version, facts: HostFacts) -> list[Finding]:
    situation = Situation(plan, release, facts)
    return [
        Finding(
            code=rule.code,
            severity=rule.severity,
            path=found.path,
            message=found.message,
            advice=found.advice,
        )
        for rule in RULES
        for found in rule.find(situation)
    ]


def _joined(plan: StartPlan, releases: list[Version], facts: HostFacts) -> list[Finding]:
    seen: dict[tuple[str, str], list[Version]] = {}
    last: dict[tuple[str, str], Finding] = {}
    for release in releases:
        for finding in _check(plan, release, facts):
            key = (finding.code, finding.path)
            where = seen.setdefault(key, [])
            if not where or where[-1] != release:
                where.append(release)
            last[key] = finding
    found = []
    for key, where in seen.items():
        finding = last[key]
        if len(where) < len(releases):
            severity: FindingSeverity = "info" if finding.severity == "info" else "warning"
            finding = Finding(
                code=finding.code,
                severity=severity,
                path=finding.path,
                message=f"In {_span(where, releases)}: {finding.message}",
                advice=finding.advice,
            )
        found.append(finding)
    return found


def _span(where: list[Version], releases: list[Version]) -> str:
    """`0.5.20 and later`, `0.5.3 to 0.5.9`; a gap between is passed over."""
    first, last = where[0].text, where[-1].text
    if where[-1] == releases[-1]:
        return f"{first} and later" if first != last else first
    if where[0] == releases[0]:
        return f"releases up to {last}"
    return first if first == last else f"{first} to {last}"


def _sorted(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: ORDER[finding.severity]))
