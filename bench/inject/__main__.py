"""What memory puts into prompts, and whether it is silent where nothing helps.

    python -m bench.inject                              this project's own worlds
    python -m bench.inject FILE_OR_FOLDER… --half held  other worlds
    python -m bench.inject --door context --set read.limit=5 --wrong 10

Beside engrams stand BM25 (its best three) and a plain hybrid (its best three).
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bench.inject.metrics import JudgedPrompt, format_table, judge
from bench.inject.systems import (
    BASELINES,
    DOORS,
    BaselineWorld,
    EngramsWorld,
    Injection,
    InjectionSystem,
)
from bench.inject.worlds import OWN_WORLDS, World, cut_young, read_worlds


def main() -> None:
    options = _parse_arguments()
    settings = dict(_parse_setting(pair) for pair in options.set)
    doors = options.door or ["nearest", "search", "context", *BASELINES]
    worlds = read_worlds(options.worlds or [OWN_WORLDS], options.half)
    if not worlds:
        raise SystemExit("No world there is of this half.")
    if options.young:
        worlds = [
            young for world in worlds for young in cut_young(world, options.young, options.seed)
        ]
    rows: dict[str, list[JudgedPrompt]] = defaultdict(list)
    profiles: dict[str, list[Injection]] = defaultdict(list)
    started = time.perf_counter()
    for world in worlds:
        systems = _open_systems(world, doors, settings, options.top)
        for door in doors:
            for prompt in world.prompts:
                injection = systems[door].inject(prompt, door)
                rows[door].append(judge(world, prompt, injection))
                profiles[door].append(injection)
        for system in {id(system): system for system in systems.values()}.values():
            system.close()
    for door in doors:
        silent = sum(row.is_silent for row in rows[door])
        print(f"\n== {door}: {len(rows[door])} prompts, {silent} of them silent")
        print(format_table(rows[door], options.bootstrap, options.seed))
        _print_profile(profiles[door])
        if options.wrong:
            _print_wrong(rows[door], worlds, options.wrong)
    if options.json:
        report = {door: list(map(asdict, judged)) for door, judged in rows.items()}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, ensure_ascii=False, indent=1), "utf-8")
        print(f"\nwritten to {options.json}")
    print(f"\n{time.perf_counter() - started:.0f} s")


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.inject",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("worlds", type=Path, nargs="*", help="files or folders of worlds")
    parser.add_argument("--half", default="", help="tune, dev or held; default: all")
    parser.add_argument(
        "--door", action="append", choices=(*DOORS, *BASELINES), help="may be repeated"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--top", type=int, default=3, help="items of the baselines")
    parser.add_argument(
        "--young", type=int, default=0, help="ask each prompt of a memory of so many messages"
    )
    parser.add_argument("--bootstrap", type=int, default=500, help="samples of an interval")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wrong", type=int, default=0, help="print so many of the worst prompts")
    parser.add_argument("--json", type=Path, help="where every prompt goes")
    return parser.parse_args()


def _parse_setting(pair: str) -> tuple[str, object]:
    name, _, text = pair.partition("=")
    try:
        return name, json.loads(text)
    except ValueError:
        return name, text


def _open_systems(
    world: World, doors: Sequence[str], settings: dict[str, object], top: int
) -> dict[str, InjectionSystem]:
    """Open one memory of the world for all doors of engrams, and one for each baseline."""
    systems: dict[str, InjectionSystem] = {
        door: BaselineWorld(world, door, top) for door in doors if door in BASELINES
    }
    own_doors = [door for door in doors if door in DOORS]
    if own_doors:
        memory = EngramsWorld(world, settings)
        systems |= dict.fromkeys(own_doors, memory)
    return systems


def _print_profile(injections: Sequence[Injection]) -> None:
    statements = sum(len(injection.profile) for injection in injections)
    if not statements:
        return
    tokens = sum(injection.profile_tokens for injection in injections) / len(injections)
    print(
        f"profile, not counted above: {statements / len(injections):.1f} statements a prompt,"
        f" {tokens:.0f} tokens"
    )


def _print_wrong(rows: Sequence[JudgedPrompt], worlds: Sequence[World], count: int) -> None:
    texts = {turn.id: turn.text[:90] for world in worlds for turn in world.turns}
    noisy = sorted((row for row in rows if row.is_silent and row.shown), key=lambda row: -row.shown)
    print("\nsilent prompts for which most was shown")
    for row in noisy[:count]:
        first = [texts.get(name, "?") for name in row.wrong[0]]
        print(f"  {row.id} {row.text[:80]!r}: {row.shown} items, first {first}")
    print("prompts with nothing, which need something")
    for row in [row for row in rows if row.needed and not row.shown][:count]:
        missing = [texts.get(name.split("|")[0], "?") for name in row.missing]
        print(f"  {row.id} {row.text[:80]!r}: missing {missing}")


if __name__ == "__main__":
    main()
