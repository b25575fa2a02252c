"""Recorded sessions of coding agents: the files are read whole, and the bench plays them."""

from __future__ import annotations

from bench.agents.sessions.__main__ import list_figures, play
from bench.agents.sessions.recorded import HALVES, RecordedProject, read_projects

AGENTS = {"claude-code", "codex", "cursor", "gemini", "opencode", "copilot"}


def _count_sessions(projects: list[RecordedProject], agent: str) -> int:
    return sum(session.agent == agent for project in projects for session in project.sessions)


def _count_sessions_of_all(projects: list[RecordedProject]) -> int:
    return sum(len(project.sessions) for project in projects)


def _measure(half: str, *names: str) -> dict[str, str]:
    projects = [project for project in read_projects(half) if project.name in names]
    lines = list_figures(projects, play(projects))
    return {line[:26].strip(): line[26:].strip() for line in lines}


def test_every_agent_has_sessions_in_both_halves() -> None:
    """A third of the sessions is held, and each prompt is one that needs something or nothing."""
    halves = {half: read_projects(half) for half in HALVES}
    everything = [project for projects in halves.values() for project in projects]
    assert _count_sessions(everything, "claude-code") >= 12
    assert all(_count_sessions(everything, agent) >= 2 for agent in AGENTS)
    held = [project for half in ("held", "tones_held") for project in halves[half]]
    assert 3 * _count_sessions_of_all(held) >= _count_sessions_of_all(everything)
    assert all(project.rules and project.days for project in everything)
    assert all(project.open_loops for half in ("dev", "held") for project in halves[half])


def test_the_bench_plays_a_project() -> None:
    """Rules that were said begin the next day; nothing that an agent wrote by itself does."""
    figures = _measure("dev", "lumen")
    assert figures["rules known at the start"] == "12 of 12"
    assert (figures["wrapper"], figures["secret"], figures["wrong"]) == ("0", "0", "0")
    assert figures["silence"].startswith("4 of 4")


def test_rules_of_any_form_begin_the_next_day() -> None:
    """Terse rules and those of other languages begin the next day; no order or mood does."""
    figures = _measure("tones_dev", "gateway", "facturas")
    assert figures["rules known at the start"] == "10 of 10"
    assert figures["of what starts tell"] == "10 of 10 items are such rules"
    assert figures["silence"].startswith("2 of 2")
