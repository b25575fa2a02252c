"""What memory holds true, strictly: ``python -m bench.truth [FILE.jsonl…] [--strict]``.

Each scenario is said to a fresh memory with its times, then its question is asked. Without a file
the held-out scenarios of ``bench/changes`` are taken, on which nothing is tuned. A scenario holds
when of the first five hits

- ``now``: every text that is true is in a current one, in a current fact of one, or quoted by it;
- ``facts``: no current fact or note has a text that is over;
- ``top``: the first is not a text that is over and says nothing of it;
- ``keep``: what must stay is found current by its own words.

``--strict`` asks for more:

- ``shown``: none of the five has a text that is over without a mark beside it;
- ``false``: no current fact of all has a text that is over, nor words that nobody said;
- ``marks``: no text that holds is marked or closed, neither among the five nor where it is found by
  its own words.

``--beside FOLDER`` asks the same with the documents of a folder in the same memory.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import engrams
from bench.changes.__main__ import SCOPE, interval, kind_of
from bench.changes.data import FILES, Case, holds_any, parse_moment, read_cases
from bench.documents.mixed import fill_home
from engrams import MemoryEngine
from engrams.core import Hit, Kind, OutdatedMark, Record, Status, Turn

_MESSAGES = (Kind.TURN, Kind.EXCHANGE)
_STATEMENTS = (Kind.FACT, Kind.PREFERENCE, Kind.RULE, Kind.NEGATIVE, Kind.PROCEDURE, Kind.NOTE)
_SHOWN = 5
_FOUND = 8
"""Hits of a search for what must stay."""
_LENIENT = ("now", "facts", "top", "keep")
_STRICT = (*_LENIENT, "shown", "false", "marks")


@dataclass(frozen=True, slots=True)
class AnsweredScenario:
    """What a memory shows after a scenario was said to it."""

    case: Case
    hits: Sequence[Hit]
    """Of its question, the first five."""
    kept: Sequence[Sequence[Hit]]
    """Of each text that must stay."""
    statements: Sequence[Record]
    """All current statements."""
    doubted_ids: frozenset[str] = frozenset()
    """Ids of those that a list shows with a mark."""


def answer_case(
    case: Case, settings: dict[str, str], filled: Path | None = None
) -> AnsweredScenario:
    """Say a scenario to a fresh memory, or to a copy of a filled home, and ask."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        home = Path(folder) / "home"
        if filled:
            shutil.copytree(filled, home)
        memory = stack.enter_context(
            engrams.open(home=home, jobs__workers=0, **settings)  # type: ignore[arg-type]
        )
        for line in case["say"]:
            memory.observe([_make_turn(line)], scope=SCOPE)
            memory.drain(30)
        as_of = parse_moment(case["as_of"]) if case["as_of"] else None
        statements = list(_list_statements(memory, as_of))
        marks = memory.inspect.find_outdated(() if as_of else statements, scope=SCOPE)
        return AnsweredScenario(
            case,
            memory.search(case["ask"], scope=SCOPE, limit=_SHOWN, as_of=as_of).hits,
            [memory.search(text, scope=SCOPE, limit=_FOUND).hits for text in case["keep"]],
            statements,
            frozenset(marks),
        )


def _make_turn(line: dict[str, str]) -> Turn:
    is_role = line["who"] in ("user", "assistant")
    return Turn(
        line["text"],
        line["who"] if is_role else "user",
        "" if is_role else line["who"],
        parse_moment(line["at"]),
        session="s",
    )


def _list_statements(memory: MemoryEngine, as_of: datetime | None) -> Iterator[Record]:
    after = ""
    while True:
        page = memory.list(scope=SCOPE, kinds=_STATEMENTS, limit=200, after=after, as_of=as_of)
        yield from page.records
        if not (after := page.next):
            return


def judge(answered: AnsweredScenario) -> dict[str, bool]:
    """Judge each check of a scenario."""
    case = answered.case
    seen = [(hit.record.kind, hit.record.text, hit.status) for hit in answered.hits]
    seen += [(fact.kind, fact.text, fact.status) for hit in answered.hits for fact in hit.facts]
    live = [(kind, text) for kind, text, status in seen if status is Status.ACTIVE]
    first = answered.hits[:1]
    return {
        "now": all(
            any(holds_any(text, [part]) for text in _list_current_words(answered))
            for part in case["now"]
        ),
        "facts": not any(
            holds_any(text, case["stale"]) for kind, text in live if kind not in _MESSAGES
        ),
        "top": not any(_is_outdated_unsaid(hit, case["stale"], is_strict=False) for hit in first),
        "keep": bool(case["as_of"])
        or all(
            any(_is_current(hit, part) for hit in hits)
            for hits, part in zip(answered.kept, case["keep"], strict=True)
        ),
        "shown": not any(
            _is_outdated_unsaid(hit, case["stale"], is_strict=True) for hit in answered.hits
        ),
        "false": not any(_is_false(record, case) for record in answered.statements),
        "marks": bool(case["as_of"])
        or not any(_is_wrongly_marked(hit, case) for hit in _all_hits(answered)),
    }


def _list_current_words(answered: AnsweredScenario) -> Iterator[str]:
    """Yield what current hits and their facts say, and the words that they quote.

    "My shoe size is 39" quotes "39 actually", which set "38" right.
    """
    records = [hit.record for hit in answered.hits if hit.status is Status.ACTIVE]
    facts = [fact for hit in answered.hits for fact in hit.facts]
    records += [fact for fact in facts if fact.status is Status.ACTIVE]
    for record in records:
        yield record.text
        yield from (item.quote for item in record.evidence)


def _all_hits(answered: AnsweredScenario) -> list[Hit]:
    return [*answered.hits, *(hit for hits in answered.kept for hit in hits)]


def _is_current(hit: Hit, part: str) -> bool:
    return hit.status is Status.ACTIVE and holds_any(hit.record.text, [part])


def _is_outdated_unsaid(hit: Hit, stale: Sequence[str], *, is_strict: bool) -> bool:
    """True for a text that is over and shown as if it held; ``is_strict``: a mark tells it."""
    if hit.status is not Status.ACTIVE or not holds_any(hit.record.text, stale):
        return False
    if not is_strict:
        return True
    return not any(_covers(mark, stale) for mark in _list_marks(hit))


def _list_marks(hit: Hit) -> list[OutdatedMark]:
    marks = list(hit.ended_clauses)
    if hit.outdated is not None and hit.outdated.is_told:
        marks.append(hit.outdated)
    return marks


def _covers(mark: OutdatedMark, texts: Sequence[str]) -> bool:
    """True if a mark is of the whole message, or its clause and one of the texts overlap."""
    return not mark.clause or any(
        holds_any(mark.clause, [text]) or holds_any(text, [mark.clause]) for text in texts
    )


def _is_false(record: Record, case: Case) -> bool:
    """True for a statement whose text is over, or that quotes what nobody said."""
    if holds_any(record.text, case["stale"]):
        return True
    said = [" ".join(line["text"].split()).casefold() for line in case["say"]]
    quotes = [" ".join(item.quote.split()).casefold() for item in record.evidence if item.quote]
    return bool(quotes) and not any(quote in text for quote in quotes for text in said)


def _is_wrongly_marked(hit: Hit, case: Case) -> bool:
    """True for a message that holds, or a clause that does, if it is marked or closed."""
    if hit.record.kind not in _MESSAGES:
        return False
    is_stale = holds_any(hit.record.text, case["stale"])
    if not is_stale:
        return bool(_list_marks(hit)) or hit.status is Status.SUPERSEDED
    return any(mark.clause and not _covers(mark, case["stale"]) for mark in _list_marks(hit))


def read_scenarios(paths: Sequence[Path]) -> Iterator[Case]:
    """Yield the scenarios of files; without any, those of the project that are held out."""
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            yield json.loads(line)
    if not paths:
        for name in FILES:
            yield from read_cases(name, "held")


def main() -> int:
    """Run the scenarios, print the table; 1 if fewer hold than asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--strict", action="store_true", help="all seven checks")
    parser.add_argument("--min", type=float, default=0.0, help="least share that must hold")
    parser.add_argument("--every", type=int, default=1, help="only every n-th scenario")
    parser.add_argument("--verbose", action="store_true", help="print what fails")
    parser.add_argument("--set", action="append", default=[], help="a setting, such as a.b=1")
    parser.add_argument("--beside", type=Path, help="a folder of documents in the same memory")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        filled = None
        if arguments.beside:
            filled = Path(folder) / "filled"
            fill_home(filled, arguments.beside, SCOPE)
        return _run(arguments, filled)


def _run(arguments: argparse.Namespace, filled: Path | None) -> int:
    settings = {
        name.replace(".", "__"): value
        for name, value in (pair.split("=", 1) for pair in arguments.set)
    }
    checks = _STRICT if arguments.strict else _LENIENT
    rows: dict[str, list[bool]] = defaultdict(list)
    failures: Counter[str] = Counter()
    told: list[bool] = []
    doubted: list[bool] = []
    for case in list(read_scenarios(arguments.files))[:: arguments.every]:
        answered = answer_case(case, settings, filled)
        results = judge(answered)
        holds = all(results[check] for check in checks)
        for group in ("all", f"all {kind_of(case)}", case["cat"], f"language {case['lang']}"):
            rows[group].append(holds)
        failed = [check for check in _STRICT if not results[check]]
        failures.update(failed)
        doubted += [
            record.id in answered.doubted_ids
            for record in answered.statements
            if _is_false(record, case)
        ]
        if kind_of(case) == "change":
            told += _list_told(answered)
        if arguments.verbose and not holds:
            print(case["id"], case["cat"], *failed)
    for group, results_of_group in sorted(rows.items()):
        print(f"{group:20} {interval(sum(results_of_group), len(results_of_group))}")
    total = len(rows["all"])
    print("fails: " + ", ".join(f"{check} {failures[check]}" for check in _STRICT))
    print(
        f"outdated lines among the five that are marked or closed: {interval(sum(told), len(told))}"
    )
    print(
        f"current statements that are over and listed with a mark: {sum(doubted)} of {len(doubted)}"
    )
    share = sum(rows["all"]) / max(total, 1)
    print(
        f"{sum(rows['all'])} of {total} scenarios hold ({share:.0%}, at least {arguments.min:.0%})"
    )
    return int(share < arguments.min)


def _list_told(answered: AnsweredScenario) -> list[bool]:
    """Tell of each outdated line among the hits if it says so."""
    stale = answered.case["stale"]
    return [
        not _is_outdated_unsaid(hit, stale, is_strict=True)
        for hit in answered.hits
        if hit.record.kind in _MESSAGES and holds_any(hit.record.text, stale)
    ]


if __name__ == "__main__":
    sys.exit(main())
