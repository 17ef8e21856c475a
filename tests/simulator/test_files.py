"""The files that a simulated host's servers name are there for whoever looks before a start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eagletui.engine.check.run import check
from eagletui.host.open import open_host
from eagletui.host.processes import find_servers
from eagletui.model.ask import HostKeyQuestion, SecretQuestion
from eagletui.model.finding import Finding
from eagletui.model.profile import StartPlan
from eagletui.monitor.preflight import host_facts
from eagletui.simulator import claimed_files
from eagletui.simulator.host import SimulatedHost
from eagletui.simulator.scenarios import SCENARIOS
from eagletui.store.installations import InstallationMemory


class Nobody:
    async def secret(self, question: SecretQuestion) -> str | None:
        raise AssertionError(question)

    async def host_key(self, question: HostKeyQuestion) -> bool:
        raise AssertionError(question)


async def findings(scenario: str, kept: Path) -> dict[str, Finding]:
    """What `check` says of the very start of the first server that runs there."""
    async with SimulatedHost(scenario, speed=200.0) as box:
        host = open_host(box.name, asker=Nobody(), config=[str(box.ssh_config)])
        await host.connect()
        try:
            wanted = box.servers[0].pid
            [raw] = [s for s in (await find_servers(host)).servers if s.pid == wanted]
            plan = StartPlan(
                argv=raw.argv,
                environment=raw.environment or {},
                workdir=raw.cwd,
                port=box.servers[0].port,
            )
            facts = await host_facts(host, plan, memory=InstallationMemory(kept), leaving=raw.pids)
        finally:
            await host.close()
    assert facts.target is not None
    assert facts.target.problem == ""
    assert facts.target.config["architectures"]
    return {finding.code: finding for finding in check(plan, facts=facts)}


@pytest.mark.parametrize("scenario", ["kimi-k2.5", "cpu"])
async def test_what_runs_could_be_started_again(scenario: str, tmp_path: Path) -> None:
    found = await findings(scenario, tmp_path)
    assert [code for code, finding in found.items() if finding.severity == "error"] == []


async def test_a_draft_of_another_model_shows_before_it_is_started(tmp_path: Path) -> None:
    found = await findings("useless-draft", tmp_path)
    assert "another tokenizer" in found["draft-tokenizer"].message


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_model_that_a_server_names_has_a_config(name: str) -> None:
    for plan in SCENARIOS[name].servers:
        named = {plan.model, *([plan.draft_model] if plan.draft_model else [])}
        assert set(plan.configs()) == named
        json.dumps(plan.configs())


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("/models/a", "/r/files/models/a"),
        ("/models", "/r/files/models"),
        ("/models2/a", "/models2/a"),
        ("models/a", "models/a"),
        (3, 3),
    ],
)
def test_only_what_is_claimed_lies_elsewhere(path: object, where: object) -> None:
    assert claimed_files.mapped(path, "/r") == where
