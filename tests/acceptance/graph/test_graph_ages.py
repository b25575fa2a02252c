"""Age orders memories and hides none: preset graph months after something was said."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import engrams
from engrams.core import Kind
from engrams.program.main import main
from engrams.testing import SettableClock

ANN = ("user", "ann")

ANSWERS = {
    "The staging database runs on a machine called crane.": "Which machine has the staging database?",
    "Invoices are rendered by the service paperjam.": "Which service renders the invoices?",
    "Deploys to production happen on Thursdays.": "When do we deploy to production?",
    "The payment tests need the variable STRIPE_SANDBOX.": "What do the payment tests need?",
    "Feature flags are kept in the file flags.toml.": "Where are feature flags kept?",
    "The mobile app is written in Kotlin.": "What language is the mobile app written in?",
    "Maya owns the search service.": "Who owns the search service?",
    "Backups are kept for ninety days.": "How long are backups kept?",
    "The API rate limit is 300 requests a minute.": "What is the API rate limit?",
    "Error reports go to the channel red-lamp.": "Where do error reports go?",
    "The design system is called Pebble.": "What is the design system called?",
    "Logs are shipped by Vector to the warehouse.": "How are logs shipped?",
    "The on-call rotation changes on Monday at noon.": "When does the on-call rotation change?",
    "Migrations are written by hand in plain SQL.": "How are migrations written?",
    "The office in Lyon has the test phones.": "Which office has the test phones?",
    "The customer portal is translated into nine languages.": "Into how many languages is the customer portal translated?",
    "Tomasz reviews every change of the billing code.": "Who reviews changes of the billing code?",
    "The session cookie expires after twelve hours.": "When does the session cookie expire?",
    "Video uploads are limited to 200 megabytes.": "How large may video uploads be?",
    "The load tests run against the cluster otter.": "Which cluster do the load tests run against?",
    "Release notes are drafted by Priya.": "Who drafts the release notes?",
    "The feature branch prefix is the ticket number.": "What is the feature branch prefix?",
    "Thumbnails are resized by the lambda shrinkray.": "What resizes the thumbnails?",
    "The user is allergic to peanuts.": "What is the user allergic to?",
    "Email templates live in the repository letterbox.": "Where do the email templates live?",
}
"""Statements, each with a question that it answers."""

OTHERS = (
    "The user prefers dark themes.",
    "Standup starts at half past nine.",
    "The lint rules forbid wildcard imports.",
    "Docker images are signed with cosign.",
    "The retro board is in the wiki.",
    "Anna wrote the first version of the importer.",
    "Currency amounts are stored as integer cents.",
    "The queue is drained before each restart.",
    "The mascot of the team is a heron.",
    "Screenshots are compared pixel by pixel.",
    "The demo account belongs to the sales team.",
    "Old sprints are archived in December.",
    "The VPN needs a hardware key.",
    "Pull requests need two approvals.",
    "The trial lasts fourteen days.",
    "Support answers within four hours.",
    "The changelog is written for customers.",
    "Secrets are rotated every quarter.",
    "The chart colours come from the brand book.",
    "Web fonts are served from our own domain.",
    "The nightly build takes forty minutes.",
    "Meeting notes are kept in Markdown.",
    "The intern works on the onboarding tour.",
)

HOUSEHOLD = {
    "Grandma's recipe box stands on the top shelf of the pantry.": "Where is grandma's recipe box?",
    "The car is due for inspection in March.": "When must the car be inspected?",
    "Ida's school closes at half past three.": "What time does Ida's school close?",
    "The wifi at the cabin is called birchnet.": "What's the wifi at the cabin called?",
    "The user takes magnesium every evening.": "Which supplement does the user take in the evening?",
    "The boiler is serviced by Lindqvist & Sons.": "Who services the boiler?",
    "The user hates cilantro.": "Is there a herb that the user hates?",
    "The spare key is with the neighbour Olga.": "Who has the spare key?",
    "Rent is paid on the third of each month.": "When is the rent due?",
    "The cat Miso eats only duck.": "What does the cat eat?",
    "The user is allergic to walnuts.": "What is the user allergic to?",
    "The book club meets at Jonas's place.": "Where does the book club meet?",
    "The bike lock combination hint is the year of the moon landing.": "What's the hint for the bike lock?",
    "The user's shoe size is 43.": "Which shoe size does the user have?",
    "Insurance for the flat is with Nordia.": "Who insures the flat?",
    "The indexer runs on the host falcon.": "On which host does the indexer run?",
    "We compress images with mozjpeg.": "How do we compress images?",
    "The test suite needs Redis 7.": "Which Redis does the test suite need?",
    "Pull requests are merged by squashing.": "How are pull requests merged?",
    "The staging password lives in the vault item blue-door.": "Where does the staging password live?",
    "Bastian maintains the parser.": "Who maintains the parser?",
    "CI times out after 25 minutes.": "After how long does CI time out?",
    "The public docs are built with Sphinx.": "What builds the public docs?",
    "The user's sister lives in Porto.": "Where does the user's sister live?",
    "Customer data is stored in the Frankfurt region.": "In which region is customer data stored?",
}
"""Statements of a home and a team, each with a question that it answers."""

NEARBY = (
    "The user prefers dark themes.",
    "The user likes short answers.",
    "The user works from home on Fridays.",
    "The dog Balu sleeps in the hall.",
    "The user's brother lives in Oslo with two cats.",
    "Ida's swimming lesson begins at four.",
    "The car has winter tyres since November.",
    "The cabin has no dishwasher.",
    "The flat has four rooms.",
    "The user drinks no coffee after noon.",
    "The gas contract runs until June.",
    "The user takes the tram to work.",
    "The book about bees belongs to Jonas.",
    "We deploy the web client on Wednesdays.",
    "The parser has a flag for old files.",
    "The host heron runs the cache.",
    "Images are stored under media.",
    "Redis is used for sessions only.",
    "The docs have a dark theme.",
    "The linter runs before each commit.",
    "The user has a sister-in-law called Mei.",
    "The region of the backups is Dublin.",
    "CI runs on two machines.",
)
"""Statements that share words with those questions and answer none."""


def write_facts(folder: Path, days: float, spread: float = 0.0) -> Path:
    """Write a file of all statements, said up to ``spread`` days after ``days`` ago."""
    said_at = datetime.now(UTC) - timedelta(days=days)
    texts = [*ANSWERS, *OTHERS]
    rows = [
        {
            "text": text,
            "kind": "fact",
            "at": (said_at + timedelta(days=spread * position / len(texts))).isoformat(),
        }
        for position, text in enumerate(texts)
    ]
    path = folder / "facts.json"
    path.write_text(json.dumps(rows))
    return path


def open_graph(home: Path, clock: SettableClock) -> engrams.MemoryEngine:
    return engrams.open(home=home, preset="graph", clock=clock, jobs__workers=0)


def run(home: Path, *arguments: str) -> None:
    command, *rest = arguments
    assert main([command, "--home", str(home), "--preset", "graph", "--user", "ann", *rest]) == 0


@pytest.mark.covers("S3.13", "S3.25")
@pytest.mark.parametrize(
    ("days", "spread"),
    [
        (120, 120),
        *(
            pytest.param(*ages, marks=pytest.mark.slow)
            for ages in ((0, 0), (30, 0), (60, 0), (90, 0), (120, 0), (30, 30))
        ),
    ],
)
@pytest.mark.slow
def test_right_answers_are_found_at_any_age(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], days: float, spread: float
) -> None:
    """Whatever their age, and whatever is younger: each answer is among the five hits."""
    run(tmp_path, "add", "-k", "fact", "-f", str(write_facts(tmp_path, days, spread)))
    missed = []
    for text, question in ANSWERS.items():
        capsys.readouterr()
        run(tmp_path, "search", question)
        if text not in capsys.readouterr().out:
            missed.append(question)
    assert missed == []


@pytest.mark.covers("S3.13", "S3.25")
def test_the_answer_stands_first_at_any_age(tmp_path: Path) -> None:
    """All were said on days of the last four months, and what only shares words is often newer."""
    now = datetime.now(UTC)
    clock = SettableClock(now)
    days = random.Random(1)
    said = [(days.uniform(0, 120), text) for text in (*HOUSEHOLD, *NEARBY)]
    with open_graph(tmp_path, clock) as engine:
        for age, text in sorted(said, reverse=True):
            clock.set(now - timedelta(days=age))
            engine.add(text, scope=ANN, kind=Kind.PREFERENCE if "prefers" in text else Kind.FACT)
        clock.set(now)
        best = [engine.search(question, scope=ANN).hits[0] for question in HOUSEHOLD.values()]
    right = [hit.record.text == text for hit, text in zip(best, HOUSEHOLD, strict=True)]
    assert sum(right) >= 24


@pytest.mark.covers("S3.25")
def test_of_what_fits_equally_the_newer_stands_first(tmp_path: Path) -> None:
    """Confidence that fell with age orders them, and lowers the score of one alone."""
    clock = SettableClock()
    with open_graph(tmp_path, clock) as engine:
        for text in ("The user plays chess with Jonas.", "The user plays chess with Marit, too."):
            engine.add(text, scope=ANN, kind=Kind.FACT)
            clock.forward(days=25)
        newer, older = engine.search("Who plays chess with the user?", scope=ANN).hits
        assert newer.record.text.endswith("too.")
        assert older.score == pytest.approx(newer.score / 2.7, rel=0.2)


@pytest.mark.covers("S3.56")
def test_stated_facts_are_not_archived_for_their_age(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A garden run after a hundred days puts none of them away."""
    run(tmp_path, "add", "-k", "fact", "-f", str(write_facts(tmp_path, 100)))
    capsys.readouterr()
    arguments = ["garden", "run", "--home", str(tmp_path), "--preset", "graph", "--user", "ann"]
    assert main(arguments) == 0
    run(tmp_path, "list", "-k", "fact", "-n", "100", "--json")
    listed = capsys.readouterr().out
    assert [text for text in (*ANSWERS, *OTHERS) if text not in listed] == []
