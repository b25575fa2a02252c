"""Decisions as developers type them, through the hook: what was chosen stands at the next start."""

from __future__ import annotations

from pathlib import Path

from tests.surfaces.hook.hooked_agent import HookedAgent

import engrams
from engrams.core import Kind

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
    ("Stop using ruff, we are back on black.", "black"),
    ("rollup ist raus, wir nehmen wieder parcel", "parcel"),
    ("ya no usamos jenkins, volvemos a travis", "travis"),
    ("on n'utilise plus celery, on repasse sur huey", "huey"),
    ("别再用eslint了，换回jshint", "jshint"),
    ("nxはもう使わないで、lernaに戻します", "lerna"),
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
    "stop using mocks, we are back on track",
    "no more coffee, we're back to work",
    "Schluss mit lustig, jetzt arbeiten",
]
REVOKED = [
    ("we deploy with pnpm, never npm", "from now on we use bun instead of pnpm", "with pnpm"),
    ("Wir nutzen yarn, nie npm.", "We no longer use yarn, we're on deno now.", "yarn, nie"),
    (
        "Siempre usamos mypy antes de hacer commit.",
        "Stop using mypy, we use pyright.",
        "mypy antes",
    ),
    ("Use black for formatting.", "Wir nutzen black nicht mehr, nur noch ruff.", "Use black"),
    ("We use Kafka for events.", "We decided on Redpanda instead of Kafka.", "use Kafka for"),
    ("Don't use emojis in commit messages.", "Emojis in commit messages are fine again.", "Don't"),
    ("We run on MySQL.", "We've decided to go with Postgres rather than MySQL.", "on MySQL"),
    ("Use tox for releases.", "toxはもう使わないで、noxに戻します", "Use tox"),
]
"""(rule, what revokes it, words of the rule)"""
UNTOUCHED = (
    "never touch `generated/`, run `pnpm gen` instead",
    "we use Redis for sessions",
)


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


def test_what_is_revoked_is_over_or_marked(agent: HookedAgent) -> None:
    """Also in another language than it was told; beside it another rule stands as it is."""
    agent.say(*(rule for rule, _, _ in REVOKED), *UNTOUCHED)
    before = _profile(agent.begin())
    assert [words for _, _, words in REVOKED if words not in before] == []
    agent.say(*(news for _, news, _ in REVOKED))
    lines = [line for line in _profile(agent.begin()).splitlines() if "may be outdated" not in line]
    assert [words for _, _, words in REVOKED if any(words in line for line in lines)] == []
    assert [rule for rule in UNTOUCHED if not any(rule in line for line in lines)] == []


def test_an_obligation_in_another_language_is_no_ban(agent: HookedAgent, home: Path) -> None:
    """ "Siempre …" orders; only what opens with a ban forbids."""
    obligations = (
        "Siempre usamos mypy antes de hacer commit.",
        "Toujours lancer les tests avant de pousser",
        "Migrationen immer mit Down-Schritt",
        "Preise sind in Cent, niemals Floats",
    )
    agent.say(*obligations, "Por favor, nunca uses print", "Nie direkt auf main pushen")
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        records = engine.list(scope=("user", "ann", "project", "shop")).records
    kinds = {
        kind: [r.text for r in records if r.kind is kind] for kind in (Kind.RULE, Kind.NEGATIVE)
    }
    assert sorted(kinds[Kind.RULE]) == sorted(text.strip(".") for text in obligations)
    assert len(kinds[Kind.NEGATIVE]) == 2
