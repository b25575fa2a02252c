"""Recorded sessions of coding agents: the files are read whole, and the bench plays them."""

from __future__ import annotations

from bench.agents.sessions.__main__ import list_figures, play
from bench.agents.sessions.recorded import HALVES, RecordedProject, read_projects

AGENTS = {"claude-code", "codex", "cursor", "gemini", "opencode", "copilot"}


def _count_sessions(projects: list[RecordedProject], agent: str) -> int:
    return sum(session.agent == agent for project in projects for session in project.sessions)


def test_every_agent_has_sessions_in_both_halves() -> None:
    """A third of the sessions is held, and each prompt is one that needs something or nothing."""
    halves = {half: read_projects(half) for half in HALVES}
    everything = [project for projects in halves.values() for project in projects]
    assert _count_sessions(everything, "claude-code") >= 12
    assert all(_count_sessions(everything, agent) >= 2 for agent in AGENTS)
    held = sum(len(project.sessions) for project in halves["held"])
    assert 3 * held >= sum(len(project.sessions) for project in everything)
    assert all(project.rules and project.days and project.open_loops for project in everything)


def test_the_bench_plays_a_project() -> None:
    """Rules that were said begin the next day; nothing that an agent wrote by itself does."""
    projects = [project for project in read_projects("dev") if project.name == "lumen"]
    figures = {
        line[:26].strip(): line[26:].strip() for line in list_figures(projects, play(projects))
    }
    assert figures["rules known at the start"] == "12 of 12"
    assert (figures["wrapper"], figures["secret"], figures["wrong"]) == ("0", "0", "0")
    assert figures["silence"].startswith("4 of 4")
