"""Days that prompts name are those of whoever told the memory, wherever they live."""

from __future__ import annotations

from datetime import datetime

import pytest

from engrams import Turn
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")


@pytest.mark.parametrize(
    ("preset", "at", "text", "days"),
    [
        ("default", "2027-01-01T00:30+01:00", "I signed the lease last night.", ["2027-01-01 Fri"]),
        ("default", "2026-05-06T08:00+09:00", "昨日、自転車を買いました。", ["2026-05-06 Wed"]),
        ("default", "2024-02-29T20:00-08:00", "The keys are with Bo today.", ["2024-02-29 Thu"]),
        ("layers", "2026-03-01T00:20+01:00", "The keys are with Bo since today.", ["2026-03-01"]),
        (
            "graph",
            "2026-05-05T23:30-07:00",
            "I moved to Oslo yesterday.",
            ["said 5 May 2026", "4 May 2026"],
        ),
        (
            "default",
            "2026-05-06T08:00+09:00",
            "昨日大阪に引っ越しました。",
            ["said 6 May 2026", "5 May 2026"],
        ),
    ],
)
def test_a_prompt_names_the_day_that_the_teller_had(
    preset: str, at: str, text: str, days: list[str]
) -> None:
    """From it a reader counts "yesterday" right, also near midnight and around New Year."""
    said_at = datetime.fromisoformat(at)
    with temp_engine(preset=preset, clock=SettableClock(said_at), jobs__workers=0) as engine:
        engine.sessions.recall(ANN, on=True)
        engine.observe(Turn(text, at=said_at), scope=ANN)
        engine.drain(10)
        prompt = engine.context(text.rstrip(".。"), scope=ANN).text
    assert [day for day in days if day not in prompt] == []


def test_an_end_names_the_day_that_its_teller_had() -> None:
    """ "Over since" is the local day on which the newer words were said, or that they name."""
    clock = SettableClock("2026-05-01T09:00")
    with temp_engine(clock=clock, jobs__workers=0) as engine:
        for at, text in (
            ("2026-05-01T09:00+09:00", "I live in Graz, the spare key is under the mat."),
            ("2026-05-06T08:00+09:00", "I moved to Linz."),
        ):
            said_at = datetime.fromisoformat(at)
            clock.forward(days=(said_at - clock()).days + 1)
            engine.observe([Turn(text, at=said_at, session=text)], scope=ANN)
            engine.drain(10)
        prompt = engine.context("Where is the spare key?", scope=ANN).text
    assert "[over since 6 May 2026:" in prompt
