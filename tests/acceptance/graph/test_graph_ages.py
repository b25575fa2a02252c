"""Age orders memories and hides none: preset graph months after something was said."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engrams.program.main import main

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
