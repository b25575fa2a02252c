"""The bench of learned statements: what is drawn, and how verdicts are counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.facts.__main__ import format_report, format_share
from bench.facts.draw import read_talk
from bench.quality.data import Item, Talk


def test_statements_are_drawn_with_their_message_and_neighbours() -> None:
    """A learned statement comes with the words it rests on and what was said before and after."""
    days = ("2026-03-01T10:00", "2026-03-01T10:01", "2026-03-02T10:00")
    texts = ("Good morning!", "I live in Lisbon.", "What a day.")
    items = tuple(
        Item(str(number), text, "user", "s", day)
        for number, (text, day) in enumerate(zip(texts, days, strict=True))
    )
    findings = read_talk("mine", Talk("t", items, ()), {})
    statement = next(drawn for drawn in findings.drawn if drawn.what == "statement")
    assert "Lisbon" in statement.shown
    assert "I live in Lisbon." in statement.source
    assert "Good morning!" in statement.before
    assert "What a day." in statement.after
    messages = [drawn for drawn in findings.drawn if drawn.what == "message"]
    assert [len(drawn.learned) for drawn in messages] == [0, 1, 0]


def test_verdicts_are_counted_with_intervals(tmp_path: Path) -> None:
    """The report has a share and an interval for each verdict; an unknown verdict is refused."""
    rows = [{"id": f"statement-{at}", "what": "statement", "data": "mine"} for at in range(4)]
    verdicts = [
        {"id": row["id"], "verdict": verdict}
        for row, verdict in zip(rows, ("right", "right", "right", "wrong"), strict=True)
    ]
    counts = {"mine": {"contexts": 10, "marked_contexts": 1}}
    (tmp_path / "sheet.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (tmp_path / "verdicts.jsonl").write_text("\n".join(map(json.dumps, verdicts)), "utf-8")
    (tmp_path / "counts.json").write_text(json.dumps(counts), "utf-8")
    report = format_report(tmp_path)
    assert "right 75 % (30-95)" in report
    assert "contexts with a mark, mine: 10 % (2-40) of 10" in report
    (tmp_path / "verdicts.jsonl").write_text('{"id": "statement-0", "verdict": "fine"}', "utf-8")
    with pytest.raises(SystemExit, match="not an id and verdict"):
        format_report(tmp_path)


def test_a_share_of_nothing_is_no_number() -> None:
    """Without any verdict there is no share."""
    assert format_share(0, 0) == "-"
