"""Changes as colleagues tell them:
terse, announced in mails, with dates; and what only looks like one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine
from engrams.core import Kind, Status
from engrams.testing import SettableClock

ANN = ("user", "ann")
_KINDS = (Kind.FACT, Kind.PREFERENCE)


def told(home: Path, *texts: str) -> MemoryEngine:
    """Add texts an hour apart, in November 2026."""
    clock = SettableClock("2026-11-20T09:00")
    memory = engrams.open(home=home, clock=clock, jobs__workers=0)
    for text in texts:
        clock.forward(hours=1)
        memory.add(text, scope=ANN)
    assert memory.drain(30)
    return memory


def texts(memory: MemoryEngine, status: Status) -> list[str]:
    return [one.text for one in memory.list(scope=ANN, kinds=_KINDS, statuses=(status,)).records]


@pytest.mark.parametrize(
    ("old", "new", "was", "now"),
    [
        (
            "The deadline is May 3.",
            "deadline got pushed to May 17",
            "May 3",
            "May 17",
        ),
        (
            "The deadline is May 3.",
            "The deadline was moved to May 17.",
            "May 3",
            "May 17",
        ),
        ("The standup is at 9.", "standup moved to 9:30", "at 9", "9:30"),
        ("The standup is at 9:30.", "hey, standup is now at 9", "at 9:30", "at 9"),
        ("The budget is 40k.", "budget was cut to 30k", "40k", "30k"),
        ("The rent is 850.", "rent went up to 900", "850", "900"),
        (
            "I live in Berlin.",
            "Hi all, please note that I have moved to Graz. Best, Tom",
            "Berlin",
            "Graz",
        ),
        ("I live in Berlin.", "I wanted to let you know that I moved to Graz.", "Berlin", "Graz"),
        (
            "I work at Initech.",
            "I'm happy to share that I've started a new job at Hooli!",
            "Initech",
            "Hooli",
        ),
        ("I work at Initech.", "Dear colleagues, as of today I work at Hooli.", "Initech", "Hooli"),
        ("My manager is Anna.", "Tom is my new boss since monday", "Anna", "Tom"),
        (
            "My phone number is 555-1234.",
            "My phone number changed to 555-9876",
            "555-1234",
            "555-9876",
        ),
        ("I'm vegetarian.", "went vegan in january", "vegetarian", "vegan"),
        ("We use Jira.", "we ditched Jira for Linear", "Jira", "Linear"),
        ("We use MySQL.", "migrated from MySQL to Postgres, finally", "MySQL", "Postgres"),
        ("I live in Berlin.", "moved from Berlin to Graz", "Berlin", "Graz"),
        ("I'm single.", "Got engaged to Kim!!", "single", "Kim"),
    ],
)
def test_a_change_in_passing(home: Path, old: str, new: str, was: str, now: str) -> None:
    """The old value ends, and the new one is known."""
    with told(home, old, new) as memory:
        assert any(was in text for text in texts(memory, Status.SUPERSEDED))
        assert any(now in text for text in texts(memory, Status.ACTIVE))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I work at Initech.", "got an offer from Hooli, not sure yet"),
        ("I live in Berlin.", "pls note that I might move to Graz in spring"),
        ("I live in Berlin.", "Tom wanted to let you know that he moved to Graz"),
        ("The standup is at 9.", "standup was open to guests"),
        ("The standup is at 9.", "standup moved to Zoom"),
        ("The budget is 40k.", "their budget was cut to 30k"),
        ("The deadline is May 3.", "deadline for the other proposal was moved to May 17"),
        ("My manager is Anna.", "Tom was my boss back at Hooli"),
        ("I'm vegetarian.", "went vegan for lunch"),
        ("We use Jira.", "we replaced the Jira logo with a cat"),
        ("We use Slack.", "dropped a link in Slack for Tom"),
        ("I'm single.", "Got engaged in a debate with Kim"),
    ],
)
def test_no_change_at_all(home: Path, old: str, new: str) -> None:
    """Offers, plans, other people's news and other things end nothing."""
    with told(home, old, new) as memory:
        assert not texts(memory, Status.SUPERSEDED)
