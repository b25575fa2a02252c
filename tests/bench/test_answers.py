"""The answer bench shows readers contexts without names, and counts what a judge made of their
answers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.answers.__main__ import main
from bench.answers.contexts import fill_tokens
from bench.answers.report import cover_evidence
from bench.quality.data import Item

from engrams.models.tokens.estimate import estimate_tokens

TURNS = (
    "I adopted a goat called Bella.",
    "My sister Ruth moved to Oslo in May.",
    "The old ladder stands behind the shed.",
    "We had soup again.",
)
QUESTIONS = (
    ("Which animal was adopted?", "pets", 0, "a goat"),
    ("Where does Ruth live?", "people", 1, "Oslo"),
    ("Where is the ladder?", "things", 2, ""),
)


def _write_data(folder: Path) -> Path:
    items = [
        {
            "id": f"t{n}",
            "text": text,
            "speaker": "Ann",
            "session": "s1",
            "date": f"2024-03-0{n + 1}T10:00:00",
        }
        for n, text in enumerate(TURNS)
    ]
    asked = [
        {
            "id": f"q{n}",
            "text": text,
            "category": category,
            "evidence": [f"t{turn}"],
            "answer": answer,
        }
        for n, (text, category, turn, answer) in enumerate(QUESTIONS)
    ]
    path = folder / "small.json"
    path.write_text(
        json.dumps(
            {"name": "small", "conversations": [{"id": "c1", "items": items, "questions": asked}]}
        ),
        "utf-8",
    )
    return path


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.answers", *map(str, arguments)])
    main()


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.slow
def test_a_run_from_contexts_to_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each reader gets every question once and no name;
    the report tells the systems apart again.
    """
    run = tmp_path / "run"
    _run(
        monkeypatch,
        "make",
        _write_data(tmp_path),
        "--tokens",
        60,
        "--out",
        run,
        "--source",
        f"before={sys.executable}",
    )
    files = sorted(run.glob("reader-*.jsonl"))
    rows = [_lines(path) for path in files]
    assert [len(some) for some in rows] == [3, 3, 3]
    assert all(
        {row["question"] for row in some} == {text for text, *_ in QUESTIONS} for some in rows
    )
    assert all(
        set(row) == {"id", "context", "question"} and estimate_tokens(row["context"]) <= 60
        for some in rows
        for row in some
    )
    assert not any(
        name in path.read_text("utf-8")
        for path in files
        for name in ("engrams", "hybrid", "before")
    )

    key = {row["id"]: row for row in json.loads((run / "key.json").read_text("utf-8"))["rows"]}
    assert {row["system"] for row in key.values()} == {"engrams", "before", "hybrid"}
    for number, some in enumerate(rows, 1):
        answers = [
            {
                "id": row["id"],
                "answer": "no idea" if key[row["id"]]["system"] == "hybrid" else "right",
            }
            for row in some
        ]
        (run / f"answers-{number}.jsonl").write_text("\n".join(map(json.dumps, answers)), "utf-8")
    _run(monkeypatch, "judge", run)
    sheet = _lines(run / "judge.jsonl")
    assert len(sheet) == 9
    assert all(set(row) == {"id", "question", "gold", "evidence", "answer"} for row in sheet)
    assert next(row for row in sheet if row["question"] == "Where does Ruth live?")["evidence"] == [
        f"[2024-03-02] Ann: {TURNS[1]}"
    ]

    verdicts = [{"id": row["id"], "score": float(row["answer"] == "right")} for row in sheet]
    (run / "verdicts.jsonl").write_text("\n".join(map(json.dumps, verdicts[:-1])), "utf-8")
    (run / "verdicts-late.jsonl").write_text(json.dumps(verdicts[-1]), "utf-8")
    capsys.readouterr()
    _run(monkeypatch, "report", run)
    told = capsys.readouterr().out
    assert told.splitlines()[1].split() == [
        "all",
        "3",
        "100.0",
        "100.0–100.0",
        "100.0",
        "100.0–100.0",
        "0.0",
        "0.0–0.0",
    ]
    assert (
        "engrams - hybrid, the same questions\nall                                   3  +100.0"
        " (+100.0 … +100.0), better 3, worse 0" in told
    )
    assert "small people" in told

    _run(monkeypatch, "cover", run)
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("words of the evidence shown, %")
    assert float(shown[1].split()[2]) > 60


def test_verdicts_of_another_run_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A score for an id that the key lacks counts nowhere:
    it ends with an error that names the file.
    """
    run = tmp_path / "run"
    _run(
        monkeypatch,
        "make",
        _write_data(tmp_path),
        "--out",
        run,
        "--only",
        "hybrid",
        "--questions",
        2,
    )
    assert len(_lines(run / "reader-1.jsonl")) == 2
    (run / "verdicts.jsonl").write_text('{"id": "a1", "score": 1}\n', "utf-8")
    with pytest.raises(SystemExit, match=r"verdicts\.jsonl: a line needs an id of this run"):
        _run(monkeypatch, "report", run)


def test_turns_fill_the_budget_in_the_order_of_saying() -> None:
    """The best turns come first into the budget, but are shown oldest first;
    one that is too long is cut.
    """
    items = [
        Item(str(n), f"{text} " * (40 if n == 3 else 1), "Ann", "s", "2024-03-01")
        for n, text in enumerate(TURNS)
    ]
    made = fill_tokens(items, ["2", "0", "3", "1"], 80)
    assert made.splitlines()[:2] == [
        f"[2024-03-01] Ann: {TURNS[0]}",
        f"[2024-03-01] Ann: {TURNS[2]}",
    ]
    assert made.splitlines()[2].startswith("[2024-03-01] Ann: We had soup again. We had soup")
    assert 60 < estimate_tokens(made) <= 80


@pytest.mark.parametrize(
    ("context", "share"),
    [
        ("She said: the old ladder stands behind the shed!", 1.0),
        ("the old ladder stands there", 4 / 7),
        ("a ladder and a shed, old", 0.0),
    ],
)
def test_words_count_as_shown_in_runs_of_four(context: str, share: float) -> None:
    """Scattered common words are no evidence; a run of four is."""
    assert cover_evidence([f"[2024-03-03] Ann: {TURNS[2]}"], context) == pytest.approx(share)
