"""Reconcile:
what a new statement does to the known ones, through the whole flow on a real store.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engrams.core import EdgeType, Kind, Scope, Status, Turn
from engrams.models.embed.factory import choose_embedder
from engrams.models.embed.null import NullEmbedder
from engrams.ports import AsOf, RecordQuery, ScopeReach
from engrams.settings import EmbedSettings

from .conftest import ALICE, Talk, digest_records


@pytest.mark.covers("S4.25", "S4.28")
def test_a_move_closes_the_old_home(talk: Talk) -> None:
    """The old home ends where the new one begins, both keep their history, and only the new one is
    active.
    """
    talk.say("I live in Paris")
    moved = talk.now
    talk.say("I moved to Berlin")
    (old,) = talk.facts(Status.SUPERSEDED)
    (new,) = talk.facts()
    assert (old.object, new.object) == ("Paris", "Berlin")
    assert old.valid_to == new.valid_from == moved
    assert old.ended_at == moved
    assert old.superseded_by == new.id
    links = {(edge.source, edge.target, edge.type) for edge in talk.store.edges(ALICE, [new.id])}
    assert (new.id, old.id, EdgeType.SUPERSEDES) in links
    assert [entry.action for entry in talk.store.history(ALICE, old.id)][-1] == "supersede"


def test_as_of_sees_what_was_true(talk: Talk) -> None:
    """A read as of a time between sees the old home, one as of now the new."""
    talk.say("I live in Paris")
    between = talk.now - timedelta(days=1)
    talk.say("I moved to Berlin")
    reach = ScopeReach(ALICE, (ALICE,), tree=True)

    def home(moment: datetime) -> list[str]:
        query = RecordQuery(
            reach,
            (Kind.FACT,),
            (Status.ACTIVE, Status.SUPERSEDED),
            AsOf(moment, moment),
            predicates=("lives_in",),
        )
        return [record.object for record in talk.store.find(query).records]

    assert home(between) == ["Paris"]
    assert home(talk.now) == ["Berlin"]


@pytest.mark.covers("S2.44", "S3.41", "S2.39")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I love pizza", "I hate pizza"),
        ("I hate pizza", "I love pizza"),
        ("I like pizza", "I don't like pizza"),
    ],
)
def test_an_opinion_turned_round_replaces_the_old_one(talk: Talk, first: str, second: str) -> None:
    """The newer opinion is the one active fact;
    the older points to it, and is not swallowed as a duplicate.
    """
    talk.say(first)
    talk.say(second)
    (new,) = talk.facts()
    (old,) = talk.facts(Status.SUPERSEDED)
    assert new.evidence[0].quote == second
    assert old.superseded_by == new.id != old.id


@pytest.mark.parametrize(
    "second",
    [
        "I also speak Dutch",
        "My sister moved to Berlin",
        "If I get the job I'll move to Berlin",
        "I might move to Berlin",
        "I want to move to Berlin",
        "Should I move to Berlin?",
        'She said "I moved to Berlin"',
        "I moved to Berlin, just kidding",
        "I don't live in Berlin",
        "I'm moving to Berlin next month",
        "I visited Berlin last week",
        "I lived in Berlin when I was a child",
    ],
)
def test_what_is_no_newer_fact_about_the_user_closes_nothing(talk: Talk, second: str) -> None:
    """Another language, somebody else, a supposition, a wish, a question, a quotation, a joke, a
    denial, a plan, the past.
    """
    talk.say("I live in Paris", "I speak Spanish")
    talk.say(second)
    assert talk.facts(Status.SUPERSEDED) == []
    assert {"Paris", "Spanish"} <= {record.object for record in talk.facts()}


def test_what_is_over_ends(talk: Talk) -> None:
    """No longer, used to and stopped end what they name, and say so in a fact of their own."""
    talk.say("I work at Google", "I smoke cigarettes", "I live in Vienna")
    talk.say(
        "I no longer work at Google", "I stopped smoking cigarettes", "I used to live in Vienna"
    )
    assert {record.object for record in talk.facts(Status.SUPERSEDED)} == {
        "Google",
        "cigarettes",
        "Vienna",
    }
    assert all(record.valid_to for record in talk.facts(Status.SUPERSEDED))
    assert "I no longer work at Google" in talk.texts()


def test_an_ended_habit_ends_at_all_its_times(talk: Talk) -> None:
    """Who stopped drinking coffee no longer drinks it every morning either."""
    talk.say("I drink coffee every morning.", "I drink tea with milk every evening.")
    talk.say("I stopped drinking coffee.", "I stopped drinking milk.")
    assert {record.object for record in talk.facts(Status.SUPERSEDED)} == {"coffee every morning"}


@pytest.mark.parametrize("ending", ["I quit my job at Acme.", "I left Acme."])
def test_an_ended_job_takes_its_title_along(talk: Talk, ending: str) -> None:
    """What one sentence said of a job ends with it; what another said stays."""
    talk.say("I work at Acme as a welder.", "I like my job.")
    talk.say(ending)
    assert {record.object for record in talk.facts(Status.SUPERSEDED)} == {"Acme", "welder"}


def test_a_correction_retires_what_was_wrong(talk: Talk) -> None:
    """What was corrected was never true: it is retired, not ended. The right one is of its kind."""
    talk.say("I live in Paris")
    said = talk.now
    talk.say("I live in Berlin, not Paris")
    (old,) = talk.facts(Status.SUPERSEDED)
    assert (old.retired_at, old.valid_to, old.ended_at) == (said, None, None)
    assert [record.kind for record in talk.facts()] == [Kind.FACT]


def test_a_correction_may_lean_on_what_was_said_before(talk: Talk) -> None:
    """``It's Hanna, not Anna`` corrects the statement that says Anna;
    one that fits nothing does nothing.
    """
    talk.say("My sister's name is Anna")
    talk.say("Sorry, it's Hanna, not Anna")
    assert [(record.predicate, record.object) for record in talk.facts()] == [("is_named", "Hanna")]
    talk.say("No, it's 42")
    assert len(talk.facts(*Status)) == 2
    assert digest_records(talk.put("No, it's 42").records, talk.deps).is_empty


@pytest.mark.covers("S3.39", "S2.38")
def test_a_repeat_strengthens_and_stores_nothing(talk: Talk) -> None:
    """A repeated statement raises strength, keeps who said it where and when, and adds no second
    fact.
    """
    talk.say("I live in Paris")
    said = talk.now
    digest = talk.say(Turn("I'm living in Paris", session="s2"))
    (fact,) = talk.facts()
    assert fact.strength == 2
    assert [derived.verdict for derived in digest.derived] == ["keep"]
    (entry,) = fact.meta["reinforcements"]
    assert (entry["session"], entry["at"]) == ("s2", said.isoformat())
    assert len(fact.evidence) == 2


def test_more_exact_words_refine(talk: Talk) -> None:
    """The more exact statement takes the place of the vaguer;
    the vaguer one after it adds nothing.
    """
    talk.say("I live in Berlin")
    digest = talk.say("I live in Berlin, Germany")
    assert [derived.verdict for derived in digest.derived] == ["refine"]
    talk.say("I live in Berlin")
    (fact,) = talk.facts()
    assert fact.object == "Berlin, Germany"


def test_an_older_fact_becomes_history(talk: Talk) -> None:
    """A move of long ago, told later, is stored as ended and leaves the present home alone."""
    talk.say("I live in Paris")
    digest = talk.say("In 2015 I moved to Rome")
    (known,) = talk.facts()
    (history,) = talk.facts(Status.SUPERSEDED)
    assert (known.object, history.object) == ("Paris", "Rome")
    assert history.valid_from == datetime(2015, 1, 1, tzinfo=UTC)
    assert history.valid_to is not None
    assert history.superseded_by == known.id
    assert [derived.verdict for derived in digest.derived] == ["add"]


def test_turns_that_arrive_late_do_not_undo_newer_ones(talk: Talk) -> None:
    """An older turn imported after a newer one is history, whatever the order they come in."""
    talk.say(Turn("I live in Berlin", at=talk.now))
    talk.say(Turn("I live in Paris", at=talk.now - timedelta(days=900)))
    assert [record.object for record in talk.facts()] == ["Berlin"]


def test_a_less_trusted_source_contradicts_and_does_not_replace() -> None:
    """What a web page says of the user's home stands beside the user's word, linked as a
    contradiction.
    """
    talk = Talk(roles=("user", "tool"))
    talk.say("I live in Paris")
    digest = talk.say(Turn("I live in Berlin", role="tool", session="s1"), channel="web")
    assert [derived.verdict for derived in digest.derived] == ["conflict"]
    assert {record.object for record in talk.facts()} == {"Paris", "Berlin"}
    web = next(record for record in talk.facts() if record.object == "Berlin")
    assert EdgeType.CONTRADICTS in {edge.type for edge in talk.store.edges(ALICE, [web.id])}
    assert web.trust < 0.5
    talk.say("I moved to Rome")
    assert [record.object for record in talk.facts()] == ["Rome"]


def test_hearsay_contradicts_a_speakers_own_word(talk: Talk) -> None:
    """What Bob says of Carol does not close what Carol said of herself."""
    talk.say(
        Turn("I live in Paris", speaker="Carol", session="s1"),
        Turn("Nice!", speaker="Bob", session="s1"),
    )
    digest = talk.say(
        Turn("Carol moved to Berlin", speaker="Bob", session="s1"),
        Turn("hm", speaker="Carol", session="s1"),
    )
    assert [derived.verdict for derived in digest.derived] == ["conflict"]
    assert "Paris" in [record.object for record in talk.facts()]


@pytest.mark.covers("S3.40")
def test_facts_about_the_user_meet_across_conversations_but_not_across_projects(talk: Talk) -> None:
    """A move told in another conversation closes the old home;
    another project's deploy target stays.
    """
    one = ALICE.within("conversation", "c1")
    two = ALICE.within("conversation", "c2")
    talk.say("I live in Paris", scope=one)
    talk.say("I moved to Berlin", scope=two)
    assert [(record.object, record.scope) for record in talk.facts()] == [("Berlin", two)]
    x = ALICE.within("project", "x")
    y = ALICE.within("project", "y")
    talk.say("Our deploy target is staging", scope=x)
    talk.say("Our deploy target is production", scope=y)
    assert {record.object for record in talk.facts() if record.predicate == "is"} == {
        "staging",
        "production",
    }
    talk.say("Our deploy target is production now", scope=x.within("session", "s9"))
    assert "staging" not in {record.object for record in talk.facts()}


def test_owners_never_meet(talk: Talk) -> None:
    """Bob's move closes nothing of Alice's."""
    bob = Scope.of(("user", "bob"))
    talk.say("I live in Paris")
    talk.say("I moved to Berlin", scope=bob)
    assert [record.object for record in talk.facts()] == ["Paris"]
    assert [record.object for record in talk.facts(scope=bob)] == ["Berlin"]


def test_statements_of_one_write_meet_each_other(talk: Talk) -> None:
    """Of several turns learned from together, a later one closes an earlier one."""
    turns = [
        Turn(text, session="s1", at=talk.now + timedelta(minutes=at))
        for at, text in enumerate(
            ["I live in Paris", "I moved to Berlin", "I love tea", "I hate tea"]
        )
    ]
    talk.say(*turns)
    assert {record.text for record in talk.facts()} == {
        "I moved to Berlin",
        "I hate tea",
    }
    assert len(talk.facts(Status.SUPERSEDED)) == 2


def test_slots_that_mean_the_same_meet(talk: Talk) -> None:
    """With an embedder, a slot by another name of the same meaning is closed;
    without one, and for another slot, nothing is.
    """
    words = ("My vehicle is a Tesla", "My breakfast is Oats", "My work phone is 555-0101")
    for embedder in (NullEmbedder(), choose_embedder(EmbedSettings())):
        talk = Talk()
        talk.embedder = embedder
        talk.say("My car is a Honda", "My lunch is Ramen", "My home phone is 555-0102")
        talk.say(*words)
        assert [record.object for record in talk.facts(Status.SUPERSEDED)] == (
            ["Honda"] if embedder.card.dimension else []
        )


@pytest.mark.covers("S0.58")
def test_with_reconciliation_off_both_are_kept() -> None:
    """With reconcile off, contradicting statements stand side by side."""
    talk = Talk(reconcile="off")
    talk.say("I love pizza")
    talk.say("I hate pizza")
    assert len(talk.facts()) == 2


def test_a_changed_status_closes_what_it_rules_out(talk: Talk) -> None:
    """Being divorced ends being married to somebody; selling the bike ends having it."""
    talk.say("I'm married to Eva", "I have a bike")
    talk.say("I'm divorced now", "I sold my bike")
    assert {record.predicate for record in talk.facts(Status.SUPERSEDED)} == {"married_to", "has"}
