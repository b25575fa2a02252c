"""``python -m bench.agents.sessions``: is what an agent's next session is given known and needed?

Plays recorded sessions of six coding agents, each in its own transcript format, and then the prompts
of the following day. ``--half dev`` is for tuning, ``held`` only reports; ``tones_dev`` and
``tones_held`` are sessions of people who talk otherwise, with rules said in passing among orders,
questions and moods. ``--show`` prints what was wrong, of the halves for tuning only.
``--door process`` runs ``engrams hook --resident`` for each event, which takes minutes; ``call``
gives the same input to the functions that the command calls.

``rules known``: rules said in passing of which one line of the next start has the words, and which
share of the lines of a start are such rules (others may help). ``precision``: share of what prompts
were given that is needed or helpful, of silent prompts too. ``recall``: needed memories that came,
here or at the start. ``silence``: share of the prompts that need nothing which got nothing.
``repeats``: items that the session had been given, or had said itself.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.agents.sessions.player import (
    HookCalls,
    HookProcesses,
    Injection,
    Playback,
    SessionPlayer,
)
from bench.agents.sessions.recorded import HALVES, RecordedProject, read_projects

_DOORS: dict[str, type[HookProcesses | HookCalls]] = {"call": HookCalls, "process": HookProcesses}
_MARKED = ("no longer so", "outdated", "superseded", "replaced")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.agents.sessions", description=__doc__)
    parser.add_argument("--half", choices=HALVES, help="default: all")
    parser.add_argument("--project", default="", help="only this project")
    parser.add_argument("--door", choices=_DOORS, default="call")
    parser.add_argument(
        "--show", action="store_true", help="print what was wrong (halves for tuning only)"
    )
    options = parser.parse_args()
    for half in [options.half] if options.half else HALVES:
        projects = [
            project for project in read_projects(half) if options.project in ("", project.name)
        ]
        playback = play(projects, _DOORS[options.door])
        print(f"{half}: {_count_sessions(projects)}")
        for line in list_figures(projects, playback):
            print(f"  {line}")
        if options.show and half.endswith("dev"):
            for line in list_mistakes(projects, playback):
                print(f"    {line}")


def play(
    projects: Sequence[RecordedProject], door: type[HookProcesses | HookCalls] = HookCalls
) -> Playback:
    """Play all sessions of each person on one home, then the following days."""
    playback = Playback()
    with TemporaryDirectory() as folder:
        for person in dict.fromkeys(project.person for project in projects):
            player = SessionPlayer(Path(folder), person, door)
            own = [project for project in projects if project.person == person]
            for project in own:
                player.play_sessions(project, playback)
            for project in own:
                player.play_days(project, playback)
            player.close()
    return playback


def list_figures(projects: Sequence[RecordedProject], playback: Playback) -> Iterator[str]:
    """Yield the figures of a half."""
    rules = [(project, rule) for project in projects for rule in project.rules]
    known = sum(_is_known(project, rule, playback) for project, rule in rules)
    yield f"rules known at the start   {known} of {len(rules)}"
    starts = [
        (project, item)
        for project in projects
        for start in _list_starts(project, playback)
        for item in start.items
        if item in start.text.partition("<last_session")[0]
    ]
    told = sum(any(_has_words(item, rule) for rule in project.rules) for project, item in starts)
    yield f"of what starts tell        {told} of {len(starts)} items are such rules"
    loops = [(project, loop) for project in projects for loop in project.open_loops]
    told = sum(
        any(loop.search(start.text) for start in _list_starts(project, playback))
        for project, loop in loops
    )
    yield f"open loops told            {told} of {len(loops)}"
    items = sum(len(given.items) for given in playback.prompts)
    right = sum(len(_list_right(given)) for given in playback.prompts)
    yield f"precision                  {right} of {items} items ({_percent(right, items)})"
    asking = [given for given in playback.prompts if given.prompt and given.prompt.needed]
    needed = sum(len(given.prompt.needed) for given in asking if given.prompt)
    came = needed - sum(len(_list_missing(given)) for given in asking)
    yield f"recall, with the start     {came} of {needed} ({_percent(came, needed)})"
    silent = [given for given in playback.prompts if _is_silent(given)]
    kept = sum(not given.text for given in silent)
    yield f"silence                    {kept} of {len(silent)} ({_percent(kept, len(silent))})"
    everything = [*playback.starts, *playback.prompts, *playback.recorded]
    repeated = sum(len(given.repeated) for given in everything)
    yield f"repeats in a session       {repeated} of {sum(len(given.items) for given in everything)}"
    prompt_tokens = [given.tokens for given in playback.prompts]
    start_tokens = [given.tokens for given in playback.starts]
    yield (
        f"tokens                     {statistics.mean(prompt_tokens):.0f} a prompt, start"
        f" {statistics.mean(start_tokens):.0f}, at most {max(start_tokens)}"
    )
    for kind in ("wrapper", "secret", "wrong"):
        count = sum(1 for found, _, _ in _list_forbidden(projects, everything) if found == kind)
        yield f"{kind:26} {count}"


def list_mistakes(projects: Sequence[RecordedProject], playback: Playback) -> Iterator[str]:
    """Yield what was wrong, for tuning."""
    for project in projects:
        for rule in project.rules:
            if not _is_known(project, rule, playback):
                yield f"{project.name}: rule not known: {' ; '.join(rule)}"
        for start in _list_starts(project, playback):
            yield f"{project.name}, {start.agent}: start\n{start.text}"
    for given in playback.prompts:
        right = _list_right(given)
        wrong = [item for item in given.items if item not in right]
        missing = [pattern.pattern for pattern in _list_missing(given)]
        if given.prompt and (wrong or missing):
            yield f"{given.project}, {given.agent}: {given.prompt.text!r}"
            yield f"    missing {missing}; wrong {wrong}; right {right}"
    everything = [*playback.starts, *playback.prompts, *playback.recorded]
    for given in everything:
        if given.repeated:
            yield f"{given.project}: repeated {given.repeated}"
    for kind, pattern, item in _list_forbidden(projects, everything):
        yield f"{kind}: {pattern}: {item}"


def _is_known(project: RecordedProject, rule: Sequence[str], playback: Playback) -> bool:
    """True if one line of every start of the following days holds the words of a rule."""
    starts = _list_starts(project, playback)
    return bool(starts) and all(
        any(_has_words(item, rule) for item in start.items) for start in starts
    )


def _has_words(item: str, rule: Sequence[str]) -> bool:
    return all(word in item.lower() for word in rule)


def _list_starts(project: RecordedProject, playback: Playback) -> list[Injection]:
    return [start for start in playback.starts if start.project == project.name]


def _list_right(given: Injection) -> list[str]:
    prompt = given.prompt
    patterns = [*prompt.needed, *prompt.helpful] if prompt else []
    return [item for item in given.items if any(pattern.search(item) for pattern in patterns)]


def _list_missing(given: Injection) -> list[re.Pattern[str]]:
    """List the needed patterns that neither the prompt's memories nor the start match."""
    needed = given.prompt.needed if given.prompt else []
    return [pattern for pattern in needed if not pattern.search(f"{given.start}\n{given.text}")]


def _is_silent(given: Injection) -> bool:
    prompt = given.prompt
    return prompt is not None and not prompt.needed and not prompt.helpful


def _list_forbidden(
    projects: Sequence[RecordedProject], everything: Sequence[Injection]
) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, pattern, item) of what may not be said; what is marked as over may."""
    for project in projects:
        for kind, pattern in project.forbidden:
            for given in everything:
                if given.project != project.name:
                    continue
                for item in given.items:
                    is_marked = kind == "wrong" and any(mark in item for mark in _MARKED)
                    if pattern.search(item) and not is_marked:
                        yield kind, pattern.pattern, item


def _count_sessions(projects: Sequence[RecordedProject]) -> str:
    sessions = sum(len(project.sessions) for project in projects)
    prompts = sum(len(day.prompts) for project in projects for day in project.days)
    return (
        f"{len(projects)} projects, {sessions} recorded sessions, {prompts} prompts of the next day"
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "none"


if __name__ == "__main__":
    main()
