"""What somebody says to be over ends, and no more than that; what is of another time ends nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Hit, Kind, Status

ME = ("user", "alice")
START = datetime(2025, 1, 6, 12, tzinfo=UTC)


def say(memory: MemoryEngine, *lines: str, days: float = 30) -> None:
    """Say lines as one speaker, some days apart; each is learned before the next."""
    for number, line in enumerate(lines):
        said_at = START + number * timedelta(days=days)
        memory.observe([Turn(line, at=said_at, session="s")], scope=ME)
        assert memory.drain(30)


def find(memory: MemoryEngine, text: str) -> Hit:
    """Find a message by its own words."""
    return next(hit for hit in memory.search(text, scope=ME).hits if hit.record.text == text)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I'm vegan.", "I'm no longer vegan."),
        ("Ich bin Vegetarier.", "Ich bin kein Vegetarier mehr."),
        ("Ich arbeite bei Siemens.", "Seit März arbeite ich nicht mehr bei Siemens."),
        ("Toco el violín.", "Ya no toco el violín desde enero."),
        ("Je suis végétarienne.", "Je ne suis plus végétarienne."),
        ("我吃素。", "我不再吃素了。"),
        ("私は菜食主義です。", "もう菜食主義ではありません。"),
        ("Ich bin gegen Nüsse allergisch.", "Ich bin doch nicht gegen Nüsse allergisch."),
        ("Soy alérgico a las nueces.", "Al final no soy alérgico a las nueces."),
        ("Emil is allergic to peanuts.", "Emil is not allergic to peanuts after all."),
        ("I eat vegetarian these days.", "Update: vegan."),
        ("I'm married to Nora.", "The divorce came through."),
        ("Ich bin mit Lea verheiratet.", "Wir sind seit Mai geschieden."),
    ],
)
def test_words_said_to_be_over_are_over(home: Path, earlier: str, later: str) -> None:
    """In each language, "no longer" about the very words of a statement ends it for sure."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, later)
        was = find(memory, earlier)
        assert was.status is Status.SUPERSEDED
        assert was.outdated is not None and was.outdated.closed
        assert later.startswith(was.outdated.words.rstrip(".。"))
        assert all(fact.status is Status.SUPERSEDED for fact in was.facts)
        assert find(memory, later).status is Status.ACTIVE


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I drink coffee.", "I don't drink coffee after five any more."),
        ("I'm vegan.", "My brother is no longer vegan."),
        ("Ich bin Vegetarier.", "Bin ich doch kein Vegetarier?"),
        ("Ich bin Vegetarier.", "Wenn ich kein Vegetarier mehr bin, sage ich es dir."),
        ("I play the cello in the town orchestra.", "In 2009 I stopped playing the cello for a year."),
        ("Toco el violín.", "En 2011 dejé de tocar el violín un año."),
        ("Emil is allergic to peanuts.", "Nora is not allergic to peanuts after all."),
        ("I'm married to Nora.", "My sister's divorce came through."),
        ("My sister Ida is vegetarian.", "Update: vegan."),
    ],
)  # fmt: skip
def test_less_another_person_and_other_years_end_nothing(
    home: Path, earlier: str, later: str
) -> None:
    """A narrower end, somebody else's end and one of years before leave a statement as it is."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, later)
        was = find(memory, earlier)
        assert was.status is Status.ACTIVE
        assert was.outdated is None or not was.outdated.closed
        if later[:2] in ("In", "En"):
            assert was.outdated is None


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("We have three people on the on-call rota.", "The rota's five strong now."),
        ("I live in Lisbon.", "we're in Porto since last week"),
        ("Ich wohne in Kassel.", "Wir sind jetzt in Graz zu Hause."),
        ("Our account manager at Vantor is Ikram.", "Vantor gave us a new account manager, Joss."),
        ("We use Jira for tickets.", "Jira is history, everything is in Linear."),
        ("My phone is a Pixel 6.", "The Pixel went to my sister, I have an iPhone now."),
        ("We use pnpm here, never npm.", "From now on we use bun instead of pnpm."),
    ],
)
def test_a_fact_ends_with_another_value(home: Path, earlier: str, later: str) -> None:
    """A number as a word, another home and a new person in a role end the fact that they replace."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, later)
        was = find(memory, earlier)
        assert was.outdated is not None
        facts = memory.list(scope=ME, kinds=(Kind.FACT,)).records
        assert not any(fact.text in earlier for fact in facts)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("We have three people on the on-call rota.", "Five of us are going to the offsite."),
        ("I live in Lisbon.", "We're in Porto until Sunday."),
        ("Our account manager at Vantor is Ikram.", "Bolt gave us a new account manager, Joss."),
        ("My mum's birthday is 3 November.", "We've been in Galway since the end of January."),
        ("We use Jira for tickets.", "The Jira logo is gone."),
        ("I drink tea with milk.", "On Sundays I have coffee instead of tea."),
    ],
)
def test_a_fact_stays_beside_a_value_of_something_else(
    home: Path, earlier: str, later: str
) -> None:
    """A number of others, a journey and another company's role end no fact."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, later)
        facts = memory.list(scope=ME, kinds=(Kind.FACT,)).records
        assert any(fact.text in earlier for fact in facts)


def test_of_two_allergies_the_other_stays(home: Path) -> None:
    """What says that one allergy was none leaves the other in the message and in the fact."""
    both = "Emil is allergic to peanuts and kiwi."
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, both, "Emil is not allergic to peanuts after all.")
        was = find(memory, both)
        assert was.status is Status.ACTIVE
        assert [mark.clause for mark in was.ended_clauses] == ["Emil is allergic to peanuts"]
        assert any(fact.text in both for fact in was.facts if fact.status is Status.ACTIVE)


def test_a_finding_about_somebody_is_no_rule(home: Path) -> None:
    """ "The test was negative" is of a person, and no convention for code."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, "Finn is not allergic to cats after all, the test was negative.")
        assert memory.list(scope=ME, kinds=(Kind.RULE,)).records == ()


@pytest.mark.parametrize(
    ("earlier", "later", "words"),
    [
        ("CI: Jenkins, two agents", "rip out Jenkins, use forgejo runners", "rip out Jenkins"),
        ("charts with plotly", "Plotly is far too heavy for this. Switch to uplot.", "Switch to"),
        ("We ship logs via rsyslog.", "We moved from rsyslog to vector.", "We moved from"),
        ("I take notes in Evernote.", "I got rid of Evernote, it was too slow.", "I got rid of"),
        ("I've got a Fuji X-T3.", "Traded the X-T3 in for a Nikon Zf.", "Traded the X-T3"),
        ("Wir nutzen Jenkins.", "Jenkins fliegt raus, wir nehmen Forgejo.", "Jenkins fliegt raus"),
        ("Usamos Notion para las notas.", "Dejamos de usar Notion.", "Dejamos de usar"),
    ],
)
def test_the_use_of_a_thing_may_be_over_once_it_is_abandoned(
    home: Path, earlier: str, later: str, words: str
) -> None:
    """A message that gives a named thing up casts doubt on what was said of its use."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, later)
        was = find(memory, earlier)
        assert was.outdated is not None
        assert was.outdated.words.startswith(words)
        assert find(memory, later).outdated is None


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("My brother lives in Porto.", "I moved from Porto to Ghent."),
        ("Mein Bruder wohnt in Köln.", "Ich bin von Köln nach Bonn gezogen."),
        ("My mother takes Sintrom.", "I stopped taking vitamin D."),
        ("Our tests need Postgres.", "drop the table users_old and start again"),
    ],
)
def test_what_others_do_and_use_stays_undoubted(home: Path, earlier: str, later: str) -> None:
    """What the speaker leaves is not over for somebody else, nor is a thing that stands beside."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, later)
        assert find(memory, earlier).outdated is None


@pytest.mark.parametrize(
    ("earlier", "later", "clause", "rest"),
    [
        ("I have a dog and a cat.", "The cat died last week.", "a cat", "a dog"),
        (
            "Ich bin Vegetarier und wohne in Köln.",
            "Ich bin kein Vegetarier mehr.",
            "Ich bin Vegetarier",
            "wohne in Köln",
        ),
        (
            "wedding's 6 september at my uncles barn, 80 ppl, no doves",
            "wedding is 13 september now",
            "wedding's 6 september at my uncles barn",
            "80 ppl, no doves",
        ),
    ],
)
def test_half_of_a_clause_ends(
    home: Path, earlier: str, later: str, clause: str, rest: str
) -> None:
    """Of a clause that says two things only the one ends, and the context says so beside it."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, later)
        was = find(memory, earlier)
        assert was.status is Status.ACTIVE
        assert [mark.clause for mark in was.ended_clauses] == [clause]
        lines = memory.context(earlier, scope=ME).tail.splitlines()
        for line in (line for line in lines if rest in line):
            # Right behind the clause, in front of the rest or after it.
            remark = line[line.index("[") : line.index("]")]
            assert line.index(clause) < line.index(remark)
            assert rest not in remark


def test_what_did_not_happen_casts_no_doubt(home: Path) -> None:
    """A move that is denied takes its mark away from the home before it."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, "I live in Paris.", "I moved to Rome.")
        assert find(memory, "I live in Paris.").outdated is not None
        say(memory, "I did not move to Rome.")
        home_then = find(memory, "I live in Paris.")
        assert (home_then.status, home_then.outdated) == (Status.ACTIVE, None)
        shown = memory.context("Where do I live?", scope=ME).text
        assert "Paris" in shown
        assert "outdated" not in shown


@pytest.mark.parametrize("days", [10, 30, 90])
def test_a_new_address_puts_the_old_one_in_doubt(home: Path, days: int) -> None:
    """A new address is about the address of before, after ten days and after ninety."""
    earlier = "My address is 3 Cedar Close, Reading."
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, "I've moved, the new address is 27 Larkspur Road.", days=days)
        was = find(memory, earlier)
        assert was.outdated is not None
        assert was.outdated.is_told


def test_the_message_beside_a_marked_one_is_not_marked(home: Path) -> None:
    """A context shows what was said right before a doubtful message without its mark."""
    chatter = [f"I painted picture number {number} of the old harbour." for number in range(12)]
    lines = (
        ("Bea", "My pottery mug is the wonkiest. And how is work with your boss Fran?"),
        ("Jo", "My boss Fran is driving me up the wall"),
        *(("Bea", line) for line in chatter),
        ("Jo", "Fran left! New boss is called Idris, he seems human"),
    )
    with engrams.open(home=home, jobs__workers=0) as memory:
        for day, (speaker, line) in enumerate(lines):
            turn = Turn(line, speaker=speaker, at=START + day * timedelta(days=9), session="s")
            memory.observe([turn], scope=ME)
        assert memory.drain(30)
        shown = memory.context("What about my boss Fran?", scope=ME).text.splitlines()
    marked = [line for line in shown if "may be outdated" in line or "over since" in line]
    assert any("driving me up the wall" in line for line in marked)
    assert any("pottery" in line for line in shown)
    assert not any("pottery" in line for line in marked)
