"""Decisions as developers type them, through the hook: what was chosen stands at the next start."""

from __future__ import annotations

from tests.surfaces.hook.hooked_agent import HookedAgent

DECISIONS = [
    ("Zustand it is", "Zustand"),
    ("we're going with pnpm", "pnpm"),
    ("we'll use Fastify for the api", "Fastify"),
    ("wir nehmen Valkey für den Cache", "Valkey"),
    ("dann eben Bun", "Bun"),
    ("machen wir mit tRPC", "tRPC"),
    ("nimm lieber Vitest", "Vitest"),
    ("decidimos usar Redis", "Redis"),
    ("nos quedamos con Postgres", "Postgres"),
    ("on a choisi Kafka", "Kafka"),
    ("on prend Prisma", "Prisma"),
    ("就用 Pinia 吧", "Pinia"),
    ("Tailwindでいきましょう", "Tailwind"),
]
NO_DECISIONS = [
    "the other file it is",
    "friday it is",
    "we'll use the second approach",
    "we'll use Koa for now",
    "we'll take 5 minutes",
    "nimm die zweite Datei",
    "dann eben morgen",
    "on prend un café",
    "on garde ça",
    "nos quedamos con dudas",
    "就用这个吧",
    "これでいきましょう",
]


def _profile(start: str) -> str:
    return start.partition("<last_session")[0]


def test_what_was_chosen_is_known_at_the_next_start(agent: HookedAgent) -> None:
    """It holds for good, in any of six languages, and stands among the rules of the project."""
    agent.say(*(sentence for sentence, _ in DECISIONS))
    profile = _profile(agent.begin())
    assert [thing for _, thing in DECISIONS if thing not in profile] == []


def test_a_choice_of_the_moment_is_no_decision(agent: HookedAgent) -> None:
    """What is chosen for now, or is no tool or way of the project, stands at no later start."""
    agent.say("Use pnpm, not npm.", *NO_DECISIONS)
    profile = _profile(agent.begin())
    assert "pnpm" in profile
    assert [sentence for sentence in NO_DECISIONS if sentence in profile] == []
