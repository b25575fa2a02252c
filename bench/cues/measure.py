"""Accuracy of query cues on conversations with known evidence.

Usage: ``python bench/cues/measure.py DATA.json [conversation ...]``. Prints, for each conversation:
how often the speaker asked about spoke an evidence turn (all: every one; any: one of them); for
questions with a calendar reference, how often the evidence was said inside the interval meant, or
within 7, 14, 30 days after it; and for "when" questions, how often a time found in the evidence
turn overlaps the answer's. ``--misses`` lists the questions that failed.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from engrams.read.cues import QueryCues, parse_query, score_dates
from engrams.text.times import EARLIEST, LATEST, find_times

SLACKS = (0, 7, 14, 30)


def said_at(item: Mapping[str, Any]) -> datetime:
    moment = datetime.fromisoformat(item["date"])
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def iterate_questions(
    talk: Mapping[str, Any],
) -> Iterator[tuple[Mapping[str, Any], QueryCues, list[Mapping[str, Any]]]]:
    """Questions with cues and evidence, asked a day after the last turn."""
    items = {item["id"]: item for item in talk["items"]}
    now = max(map(said_at, talk["items"])) + timedelta(days=1)
    speakers = Counter(item["speaker"] for item in talk["items"])
    for question in talk["questions"]:
        evidence = [items[name] for name in question["evidence"] if name in items]
        if evidence:
            yield question, parse_query(question["text"], now, speakers), evidence


def count_speakers(talk: Mapping[str, Any], misses: list[str]) -> Counter[str]:
    count: Counter[str] = Counter()
    for question, cues, evidence in iterate_questions(talk):
        kind = "adversarial" if str(question["category"]) == "5" else "real"
        count[kind] += 1
        if not cues.asked_about:
            count[f"{kind} none"] += 1
            misses.append(f"{talk['id']} nobody: {question['text']}")
            continue
        right = [item["speaker"] in cues.asked_about for item in evidence]
        count[f"{kind} all"] += all(right)
        count[f"{kind} any"] += any(right)
        count[f"{kind} turns"] += len(right)
        count[f"{kind} turns right"] += sum(right)
        if not any(right) and kind == "real":
            misses.append(
                f"{talk['id']} about {cues.asked_about} but {evidence[0]['speaker']}:"
                f" {question['text']}"
            )
    return count


def count_dates(talk: Mapping[str, Any], misses: list[str]) -> Counter[str]:
    import numpy as np

    count: Counter[str] = Counter()
    for question, cues, evidence in iterate_questions(talk):
        spans = [span for span in cues.spans if span.end - span.start < timedelta(days=200)]
        if str(question["category"]) == "5" or not spans:
            continue
        count["asked"] += 1
        for slack in SLACKS:
            count[f"+{slack}"] += any(
                span.start <= said_at(item) < span.end + timedelta(days=slack)
                for span in spans
                for item in evidence
            )
        best = float(
            score_dates(spans, np.array([said_at(item).timestamp() for item in evidence])).max()
        )
        if best < 0.2:
            meant = [(span.text, str(span.start.date())) for span in spans]
            misses.append(
                f"{talk['id']} {best:.2f} {meant} {evidence[0]['date']}: {question['text']}"
            )
    return count


def count_answers(talk: Mapping[str, Any], misses: list[str]) -> Counter[str]:
    count: Counter[str] = Counter()
    for question, cues, evidence in iterate_questions(talk):
        gold = find_times(str(question.get("answer", "")), said_at(evidence[0]))
        if str(question["category"]) != "2" or not gold:
            continue
        count["when"] += 1
        count["when understood"] += cues.wants_time
        found = [span for item in evidence for span in find_times(item["text"], said_at(item))]
        count["found"] += bool(found)
        overlap = any(
            a.start < b.end and b.start < a.end
            for a in found
            for b in gold
            if a.start != EARLIEST and a.end != LATEST
        )
        count["overlap"] += overlap
        if not overlap:
            meant = [(span.text, str(span.start.date())) for span in found]
            misses.append(
                f"{talk['id']} {question['answer']!r}, found {meant}, said {evidence[0]['date']}:"
                f" {evidence[0]['text']}"
            )
    return count


def format_share(count: Counter[str], part: str, whole: str) -> str:
    return f"{100 * count[part] / count[whole]:5.1f}" if count[whole] else "    -"


def print_report(name: str, who: Counter[str], when: Counter[str], answers: Counter[str]) -> None:
    print(
        f"{name:12} about: n {who['real']:4} all {format_share(who, 'real all', 'real')} any"
        f" {format_share(who, 'real any', 'real')} turns"
        f" {format_share(who, 'real turns right', 'real turns')} none"
        f" {format_share(who, 'real none', 'real')} | dates: n {when['asked']:3} "
        + " ".join(f"+{slack}d {format_share(when, f'+{slack}', 'asked')}" for slack in SLACKS)
        + f" | answers: n {answers['when']:3} asked-when"
        f" {format_share(answers, 'when understood', 'when')} found"
        f" {format_share(answers, 'found', 'when')} overlap"
        f" {format_share(answers, 'overlap', 'when')}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("only", nargs="*")
    parser.add_argument("--misses", action="store_true")
    given = parser.parse_args(arguments)
    talks = json.loads(given.data.read_text("utf-8"))["conversations"]
    totals: tuple[Counter[str], Counter[str], Counter[str]] = (Counter(), Counter(), Counter())
    misses: list[str] = []
    for talk in talks:
        if given.only and talk["id"] not in given.only:
            continue
        counts = (
            count_speakers(talk, misses),
            count_dates(talk, misses),
            count_answers(talk, misses),
        )
        print_report(talk["id"], *counts)
        for total, count in zip(totals, counts, strict=True):
            total.update(count)
    print_report("all", *totals)
    if given.misses:
        print(*misses, sep="\n")


if __name__ == "__main__":
    main()
