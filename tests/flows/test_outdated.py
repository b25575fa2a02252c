"""Facts change, history stays: changes said in people's own words, without a model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Hit, Kind, Status
from engrams.program.main import main
from engrams.program.registry import create_app

ME = ("user", "alice")
DENTIST = "Mein Zahnarzt ist Dr. Pohl."
NEW_DENTIST = "Mein Zahnarzt ist jetzt Dr. Reuter, Dr. Pohl hat aufgehört."
ASK = "Wer ist mein Zahnarzt?"
START = datetime(2025, 1, 6, 12, tzinfo=UTC)
PRESETS = ("default", "cache", "engine", "proxy", "graph", "layers")


def open_eager(home: Path, **more: Any) -> MemoryEngine:
    """Open memory that closes and marks at low probabilities."""
    return engrams.open(
        home=home,
        **{
            "jobs__workers": 0,
            "write__changes__close_at": 0.6,
            "write__changes__close_fact_at": more.get("write__changes__close_at", 0.6),
            "write__changes__mark_at": 0.3,
            **more,
        },
    )


def say(memory: MemoryEngine, *lines: str, days: float = 90, session: str = "s") -> None:
    """Say lines as one speaker, some days apart."""
    for number, line in enumerate(lines):
        memory.observe(
            [Turn(line, at=START + number * timedelta(days=days), session=session)], scope=ME
        )
    assert memory.drain(30)


def find(memory: MemoryEngine, ask: str, part: str, as_of: datetime | None = None) -> Hit:
    """Find the hit that holds a text."""
    return next(
        hit for hit in memory.search(ask, scope=ME, as_of=as_of).hits if part in hit.record.text
    )


@pytest.mark.parametrize(
    ("rule", "news"),
    [
        ("Please use Fahrenheit for temperatures", "I'm back in Europe, use Celsius now"),
        ("write replies in British English please", "American spelling is fine from now on"),
    ],
)
def test_a_rule_is_in_as_much_doubt_as_its_message(tmp_path: Path, rule: str, news: str) -> None:
    """The rules of a prompt tell it too: they would be obeyed as if nothing had been said."""
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        say(memory, rule, news)
        rules = memory.context("How do you write to me?", scope=ME).text.split("<recalled>")[0]
    (line,) = [line for line in rules.splitlines() if rule in line]
    assert "may be outdated" in line
    assert news in line


@pytest.mark.parametrize(
    ("lines", "minutes", "doubted"),
    [
        (("There are five of us in the quartet, I know.", "it's six now"), 20, True),
        (("Wir sind 4 in der Werkstatt", "jetzt fünf"), 20, True),
        (("My locker is 212", "we're 3 now"), 9 * 24 * 60, False),
        (("We have 14 chairs", "The kitchen was painted.", "it's 16 now"), 20, False),
    ],
)
def test_a_bare_number_is_about_what_was_said_right_before(
    tmp_path: Path, lines: tuple[str, ...], minutes: int, doubted: bool
) -> None:
    """It names nothing of its own: later, or after something else, nobody knows what it counts."""
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        say(memory, *lines, days=minutes / (24 * 60))
        (hit,) = [
            hit for hit in memory.search(lines[0], scope=ME).hits if hit.record.text == lines[0]
        ]
    assert (hit.outdated is not None) == doubted


@pytest.mark.parametrize(
    "lines",
    [
        ("She loves orchids.", "The milk ran out yesterday."),
        ("My mother's birthday is in May. She loves orchids.", "The pills ran out."),
        ("Mein Hund bellt nachts.", "Meine Hand tut nicht mehr weh."),
        ("Der Tisch wackelt.", "Der Fisch ist aus."),
        ("Ann plays chess on Mondays.", "And the heating is no longer broken."),
    ],
)
def test_words_of_almost_the_same_letters_put_nothing_right(
    tmp_path: Path, lines: tuple[str, ...]
) -> None:
    """Only a name or number can be a slip of the keys, and only of what the messages are about."""
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        say(memory, *lines, days=1 / (24 * 60))
        hit = find(memory, lines[0], lines[0])
    assert hit.outdated is None or not hit.outdated.is_told


@pytest.mark.parametrize(
    ("lines", "is_doubted"),
    [
        (("我周五三点要看牙医。", "诺拉的火车取消了，她周日才到。"), False),
        (("我们周五一般吃披萨。", "诺拉的火车取消了，她周日才到。"), False),
        (("我周五三点要看牙医。", "牙医把时间改到了四点。"), True),
        (("金曜日の三時に歯医者の予約があります。", "歯医者が四時に変更になった。"), True),
        (("I take B12 pills in the mornings", "B12 pills evenings now"), True),
        (("morgens 20 mg Cortison", "jetzt abends 20 mg Cortison"), True),
        (("I take B12 pills in the mornings", "I took B12 pills last night"), False),
    ],
)
def test_another_day_of_another_thing_moves_nothing(
    tmp_path: Path, lines: tuple[str, ...], is_doubted: bool
) -> None:
    """Characters that all days are written with are no thing that two messages share."""
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        say(memory, *lines, days=1)
        hit = find(memory, lines[0], lines[0])
    assert (hit.outdated is not None and hit.outdated.is_told) is is_doubted


@pytest.mark.parametrize(
    "lines",
    [
        ("We have two children, Abena and Joris.", "Abena goes to the Montessori school."),
        ("My dog is called Bruno.", "Bruno goes to the groomer in May."),
        ("I have two colleagues, Vera and Tom.", "Vera is pregnant and goes on leave in May."),
    ],
)
def test_where_somebody_goes_ends_nothing_else(tmp_path: Path, lines: tuple[str, ...]) -> None:
    """Only a day or time that goes to another one is a change."""
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        say(memory, *lines, days=1)
        assert find(memory, lines[0], lines[0]).outdated is None
        facts = memory.list(scope=ME, kinds=(Kind.FACT,)).records
    assert lines[0].rstrip(".") in {fact.text for fact in facts}


def test_one_more_of_a_kind_closes_no_statement(tmp_path: Path) -> None:
    """What was done again may be one more: the statement is in doubt at most."""
    tattoo = "I've a tattoo of a compass on my wrist."
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        say(memory, tattoo, "GOT INKED AGAIN: a heron, ankle, ouch")
        texts = [fact.text for fact in memory.list(scope=ME, kinds=(Kind.FACT,)).records]
    assert tattoo.rstrip(".") in texts


@pytest.mark.parametrize(
    ("rule", "news"),
    [
        (
            "prod is on Ruby 2.7, please nothing newer than that in examples",
            "Finally upgraded prod to 3.3 this weekend",
        ),
        (
            "our servers are on Debian 11, don't suggest packages newer than that",
            "all our servers moved to Debian 12 over the weekend",
        ),
    ],
)
def test_another_value_ends_a_rule_that_tells_one(tmp_path: Path, rule: str, news: str) -> None:
    """The words of the order beside the value need not be said again."""
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        say(memory, rule, news)
        (record,) = memory.list(
            scope=ME, kinds=(Kind.RULE,), statuses=(Status.ACTIVE, Status.SUPERSEDED)
        ).records
        assert record.text == rule
        assert record.status is Status.SUPERSEDED


@pytest.mark.parametrize(
    ("old", "new", "ask", "part"),
    [
        ("My landlord is Mr Okafor.", "Mr Okafor is gone, the landlord is Ms Brandt now.", "Who is my landlord?", "Brandt"),
        ("The newsletter has 310 subscribers.", "The newsletter has 480 subscribers now!", "How many subscribers do we have?", "480"),
        (DENTIST, NEW_DENTIST, "Wer ist mein Zahnarzt?", "Reuter"),
        ("The garage code is 4471.", "Sorry, the garage code is 4417, I mixed it up.", "What is the garage code?", "4417"),
    ],
)  # fmt: skip
def test_closes_what_a_plain_message_ends(
    tmp_path: Path, old: str, new: str, ask: str, part: str
) -> None:
    """A change in somebody's own words comes first, and what it ends says so."""
    with open_eager(tmp_path) as memory:
        say(memory, old, new)
        hits = memory.search(ask, scope=ME).hits
        assert part in hits[0].record.text
        was = find(memory, ask, old)
        assert was.status is Status.SUPERSEDED
        assert all(fact.status is Status.SUPERSEDED for fact in was.facts)
        assert was.outdated is not None or was.facts
        told = memory.context(ask, scope=ME).text
        assert part in told and (old not in told or "no longer so" in told)


def test_what_is_said_more_exactly_is_still_so(tmp_path: Path) -> None:
    """A message behind a refined fact stands without a mark, until the more exact one has ended
    too.
    """
    with open_eager(tmp_path) as memory:
        say(memory, "I live in Berlin.", "I live in Berlin, Germany.")
        was = find(memory, "Where do I live, in Berlin?", "I live in Berlin.")
        assert [fact.status for fact in was.facts] == [Status.SUPERSEDED]
        assert was.status is Status.ACTIVE
        assert "no longer so" not in memory.context("Where do I live, in Berlin?", scope=ME).text
        memory.observe([Turn("I moved to Oslo.", at=START + timedelta(days=90))], scope=ME)
        assert memory.drain(30)
        assert (
            find(memory, "Did I live in Berlin?", "I live in Berlin.").status is Status.SUPERSEDED
        )


def test_marks_what_may_be_outdated(tmp_path: Path) -> None:
    """An unsure change stays beside the old statement, which is shown after it with a mark."""
    with open_eager(tmp_path, write__changes__close_at=1) as memory:
        say(memory, "My bike is a blue Trek.", "Someone stole the Trek, I ride a Canyon now.")
        ask = "Which bike do I have, the Trek?"
        hits = memory.search(ask, scope=ME).hits
        assert "Canyon" in hits[0].record.text
        was = find(memory, ask, "blue Trek")
        assert was.status is Status.ACTIVE
        assert was.outdated is not None
        assert (was.outdated.by, was.outdated.closed) == (hits[0].record.id, False)
        assert 0.3 <= was.outdated.probability < 1
        assert was.outdated.words == "Someone stole the Trek, I ride a Canyon now."
        context = memory.context(ask, scope=ME)
        # A context shows what may be over with its mark, or not at all.
        mark = (
            'may be outdated, said on 6 April 2025: "Someone stole the Trek, I ride a Canyon now.")'
        )
        assert "Canyon" in context.text
        assert "blue Trek" not in context.text or mark in context.text


@pytest.mark.parametrize(
    "later",
    [
        "Should I leave the town band one day?",
        "My cousin plays the trumpet in a town band too.",
        'She told me: "I\'ve stopped playing the trumpet for good."',
        "If I ever stopped playing the trumpet, the neighbours would cheer.",
        "New strings for the guitar today, finally.",
    ],
)
def test_leaves_alone_what_still_holds(tmp_path: Path, later: str) -> None:
    """Questions, other people, quotations and hypotheticals close nothing."""
    with open_eager(tmp_path) as memory:
        say(memory, "I play the trumpet in the town band.", later)
        assert (
            find(memory, "Do I play the trumpet?", "I play the trumpet in").status is Status.ACTIVE
        )


def test_past_shows_what_held_then(tmp_path: Path) -> None:
    """A read of the past shows what was believed, without a mark."""
    with open_eager(tmp_path) as memory:
        say(memory, DENTIST, NEW_DENTIST)
        was = find(memory, ASK, DENTIST, as_of=START + timedelta(days=30))
        assert (was.status, was.outdated) == (Status.ACTIVE, None)


def test_newest_of_a_past_day_comes_first(tmp_path: Path) -> None:
    """At a past day, what was said last until then stands before what it ended;
    what came later is unknown.
    """
    with open_eager(tmp_path) as memory:
        say(
            memory,
            "Our goalie is Hamza.",
            "Hamza left for college, the goalie is Ines now.",
            "Ines quit, our goalie is Bo now.",
        )
        hits = memory.search("Who is our goalie?", scope=ME, as_of=START + timedelta(days=100)).hits
        assert "Ines now" in hits[0].record.text
        assert all("Bo" not in hit.record.text for hit in hits)
        was = find(memory, "Who is our goalie?", "is Hamza", as_of=START + timedelta(days=100))
        assert was.outdated is not None
        assert was.outdated.by == hits[0].record.id


def test_assistant_ends_nothing(tmp_path: Path) -> None:
    """An assistant's messages neither end nor doubt each other."""
    with open_eager(tmp_path) as memory:
        for days, text in enumerate(
            ("The meeting is on Tuesday.", "The meeting is on Thursday now, not on Tuesday.")
        ):
            memory.observe(
                [Turn(text, "assistant", at=START + timedelta(days=days), session="s")], scope=ME
            )
        assert memory.drain(30)
        assert find(memory, "When is the meeting?", "on Tuesday.").outdated is None


def test_profile_tells_its_doubts(tmp_path: Path) -> None:
    """A fact in the profile says that a later statement may end it, until somebody says that it
    holds.
    """
    with open_eager(tmp_path, write__changes__close_at=1) as memory:
        say(
            memory, "My landlord is Mr Okafor.", "Mr Okafor is gone, the landlord is Ms Brandt now."
        )
        doubt = (
            "(6 January 2025; may be outdated, said on 6 April 2025:"
            ' "Mr Okafor is gone, the landlord is Ms Brandt now.")'
        )
        before = memory.context("", scope=ME)
        assert doubt in before.prefix
        fact = next(
            fact
            for fact in memory.list(scope=ME, kinds=(Kind.FACT,)).records
            if fact.text.startswith("My landlord")
        )
        memory.restore(fact.evidence[0].source, scope=ME)
        after = memory.context("", scope=ME)
        assert "may be outdated" not in after.prefix
        assert after.version != before.version


@pytest.mark.parametrize(
    ("old", "new", "doubted", "kept"),
    [
        (
            "I have a dog and I have a cat.",
            "the pets are gone, they live with my ex now",
            ["a dog", "a cat"],
            [],
        ),
        (
            "I work as a nurse and I love climbing.",
            "I'm no longer in nursing, studying law now",
            ["as a nurse"],
            ["climbing"],
        ),
        (
            "I live in Riga and I have a dog.",
            "so, new town, new flat: Vilnius it is, since March",
            ["in Riga"],
            ["dog"],
        ),
        (
            "My girlfriend Mia is a painter and I live in Paris.",
            "Mia and I broke up",
            [],
            ["in Paris"],
        ),
        ("I live in Paris and I have a dog called Bruno.", "I moved to Berlin.", [], ["Bruno"]),
        (
            "I live in Paris and I have a dog called Bruno.",
            "Bruno died yesterday",
            ["Bruno"],
            ["in Paris"],
        ),
    ],
)
def test_doubt_falls_on_what_the_later_statement_is_about(
    home: Path, old: str, new: str, doubted: list[str], kept: list[str]
) -> None:
    """At the defaults, of a message with more than one fact the profile doubts only those that the
    later one is about.
    """
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, old, new)
        lines = memory.context("", scope=ME).prefix.splitlines()
    told = {line: "may be outdated" in line for line in lines if "(6 January 2025" in line}
    # What is certain enough is over, and not in the profile at all.
    assert all(doubt for line, doubt in told.items() for part in doubted if part in line)
    assert all([doubt for line, doubt in told.items() if part in line] == [False] for part in kept)


def test_a_doubt_of_the_profile_is_told_by_its_words_alone(home: Path) -> None:
    """The profile's line quotes what was said later; the message itself comes to who asks for it,
    and into no other prompt.
    """
    old = "I work at Acme and I live in Paris."
    new = "so, everything changed: new country, new job"
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, old, new, "I bought a red kettle.", days=60)
        shown = memory.context("Which kettle did I buy?", scope=ME, limit=1)
        assert f'may be outdated, said on 7 March 2025: "{new}"' in shown.prefix
        assert "red kettle" in shown.tail
        assert new not in shown.tail
        assert new in memory.context("what about the new country?", scope=ME, limit=1).tail


def test_change_ends_only_its_own(tmp_path: Path) -> None:
    """What else was said in the same message stays current."""
    with open_eager(tmp_path) as memory:
        say(
            memory,
            "My landlord is Mr Okafor. My sister is a nurse.",
            "Mr Okafor is gone, the landlord is Ms Brandt now.",
        )
        was = find(memory, "Who is my landlord?", "Mr Okafor. My")
        assert was.status is Status.ACTIVE
        assert {fact.status for fact in was.facts if "nurse" in fact.text} <= {Status.ACTIVE}
        assert {fact.status for fact in was.facts if "Okafor" in fact.text} <= {Status.SUPERSEDED}


def test_restored_statement_is_not_closed_again(tmp_path: Path) -> None:
    """A closing set right by hand stays so, whatever is learned again."""
    with open_eager(tmp_path) as memory:
        say(memory, DENTIST, NEW_DENTIST)
        was = find(memory, ASK, DENTIST)
        assert was.outdated is not None
        memory.restore(was.record.id, scope=ME)
        again = find(memory, ASK, DENTIST)
        assert (again.status, again.outdated) == (Status.ACTIVE, None)
        assert all(fact.status is Status.ACTIVE for fact in again.facts)
        assert memory.get(was.record.id, scope=ME).meta["beside"] == [was.outdated.by]


def test_forgotten_change_marks_nothing(tmp_path: Path) -> None:
    """Forgetting the later message takes its mark away."""
    with open_eager(tmp_path) as memory:
        say(memory, DENTIST, NEW_DENTIST)
        was = find(memory, ASK, DENTIST)
        assert was.outdated is not None
        memory.forget(was.outdated.by, scope=ME)
        assert find(memory, ASK, DENTIST).outdated is None


def test_switched_off_leaves_all(tmp_path: Path) -> None:
    """Without the detector nothing is closed by likeness."""
    with engrams.open(home=tmp_path, jobs__workers=0, write__changes__enabled=False) as memory:
        say(memory, DENTIST, NEW_DENTIST)
        assert find(memory, ASK, DENTIST).outdated is None


def test_looks_for_changes_off_the_path(tmp_path: Path) -> None:
    """``add`` leaves the search for changes to a job, one for several messages."""
    with open_eager(tmp_path) as memory:
        memory.add("My bike is a blue Trek.", scope=ME)
        memory.add("Someone stole the Trek, I ride a Canyon now.", scope=ME)
        memory.add("I ride to work now.", scope=ME)
        assert memory.status()["jobs"]["changes"] == {"waiting": 1}
        assert find(memory, "Which bike do I have, the Trek?", "blue Trek").outdated is None
        assert memory.drain(30)
        assert find(memory, "Which bike do I have, the Trek?", "blue Trek").outdated is not None


def test_api_and_command_show_the_mark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API and the command tell what may be outdated."""
    asked = "Which bike do I have, the Trek?"
    with open_eager(tmp_path, user="alice", write__changes__close_at=1) as memory:
        say(memory, "My bike is a blue Trek.", "Someone stole the Trek, I ride a Canyon now.")
        with TestClient(create_app(memory, memory.settings), base_url="http://localhost") as client:
            hits = client.post("/v1/search", json={"query": asked}).json()["hits"]
    was = next(hit for hit in hits if "blue Trek" in hit["memory"]["text"])
    assert (was["outdated"]["by"], was["outdated"]["closed"]) == (hits[0]["memory"]["id"], False)
    monkeypatch.setenv("ENGRAMS_HOME", str(tmp_path))
    monkeypatch.setenv("ENGRAMS_USER", "alice")
    assert main(["search", asked]) == 0
    assert was["outdated"]["words"] == "Someone stole the Trek, I ride a Canyon now."
    words = f'"{was["outdated"]["words"]}", see {was["outdated"]["by"]}'
    assert f"may be outdated, said on 6 April 2025: {words}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "now"),
    [
        ("I live in Porto.", "I moved to Bilbao last month.", "Bilbao"),
        ("Vivo en Valencia.", "Me mudé a Bilbao el mes pasado.", "Bilbao"),
        ("我住在北京。", "我上个月搬到了成都。", "成都"),
        ("Ich wohne in Köln.", "Ich bin letzten Monat nach Bonn gezogen.", "Bonn"),
        ("I moved to Porto two weeks ago.", "I moved to Bilbao in 2012.", "Porto"),
        ("I live in Porto.", "I moved to Bilbao in 2012.", "Porto"),
        ("I live in Lyon.", "We moved to Rome in March.", "Rome"),
        ("I live in Lyon.", "We moved to Postgres in March.", "Lyon"),
    ],
)
def test_told_later_wins_over_undated(tmp_path: Path, old: str, new: str, now: str) -> None:
    """A recent change told later ends what had no time of its own; an old one is history."""
    with engrams.open(home=tmp_path, jobs__workers=0, write__changes__enabled=False) as memory:
        say(memory, old, new, days=5)
        facts = memory.list(scope=ME, kinds=(Kind.FACT,)).records
        assert [fact.object for fact in facts if fact.predicate == "lives_in"] == [now]
        if now == "Bilbao":
            assert [fact.valid_from for fact in facts] == [datetime(2024, 12, 1, tzinfo=UTC)]


def test_command_waits_for_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``engrams add`` has looked for changes when it ends."""
    monkeypatch.setenv("ENGRAMS_HOME", str(tmp_path))
    for line in ("My bike is a blue Trek.", "Someone stole the Trek, I ride a Canyon now."):
        assert main(["add", line]) == 0
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        assert memory.status()["jobs"]["changes"] == {"done": 1}


def test_news_of_another_slot_casts_no_doubt(home: Path) -> None:
    """At the defaults, a new job leaves the town alone:
    both statements are understood, and speak of different things.
    """
    with engrams.open(home=home, jobs__workers=0) as memory:
        for line in (
            "I moved to Berlin.",
            "I work at Siemens.",
            "I quit my job at Siemens, I'm a teacher now",
        ):
            memory.add(line, scope=ME)
        assert memory.drain(30)
        shown = memory.context("Where do I live?", scope=ME).text
    assert "I moved to Berlin" in shown and "outdated" not in shown


@pytest.mark.parametrize(
    ("first", "other", "end"),
    [
        ("I like tea.", "I also like coffee.", "I no longer like tea."),
        ("Me gusta el té.", "También me gusta el café.", "Ya no me gusta el té."),
        ("J'aime le thé.", "J'aime aussi le café.", "Je n'aime plus le thé."),
    ],
)
@pytest.mark.parametrize("preset", ["default", "layers"])
def test_the_end_of_one_thing_casts_no_doubt_on_another(
    tmp_path: Path, preset: str, first: str, other: str, end: str
) -> None:
    """What is liked or drunk besides stays as it was; the thing that is named is over."""
    with engrams.open(home=tmp_path, preset=preset, jobs__workers=0) as memory:
        memory.sessions.recall(ME, True)
        say(memory, first, other, end, days=1)
        for question in (first, other, "What do I like to drink?"):
            shown = memory.context(question.replace(".", "?"), scope=ME).text
            assert "may be outdated" not in shown
        over = memory.search(first, scope=ME, history=True).hits
        ended = [
            fact.text for hit in over for fact in hit.facts if fact.status is Status.SUPERSEDED
        ]
        assert set(ended) <= {first.rstrip(".")}


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("My office is on the 4th floor.", "The gym moved to the 2nd floor."),
        ("Our standup is at 9:30.", "The retro is now at 3."),
        ("Unsere Katze heißt Mimi.", "Unser Hund heißt jetzt Rocky."),
        ("My flight to Oslo is on 3 May.", "My flight to Bergen moved to 9 May."),
    ],
)
def test_news_of_a_thing_casts_no_doubt_on_another_of_its_kind(
    tmp_path: Path, first: str, other: str
) -> None:
    """Each sentence begins with a thing of its own, which the other one does not name."""
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        say(memory, first, other, days=9)
        hits = memory.search(first.replace(".", "?"), scope=ME, history=True).hits
        (hit,) = [hit for hit in hits if hit.record.text == first]
        assert hit.outdated is None
        assert not [fact.text for fact in hit.facts if fact.status is Status.SUPERSEDED]


def test_plain_statement_may_end_something(tmp_path: Path) -> None:
    """A change without a word or a number that marks it is looked for too."""
    with open_eager(tmp_path) as memory:
        say(
            memory,
            "We keep two goats behind the barn.",
            "The goats went to the petting zoo, the barn is so quiet.",
        )
        assert find(memory, "Do we keep goats?", "We keep two goats").outdated is not None


def test_correction_is_compared_with_what_was_said_just_before(tmp_path: Path) -> None:
    """A correction is compared with the last messages of its session, however many older ones are
    nearer in words.
    """
    stations = (
        "Leeds",
        "York",
        "Hull",
        "Derby",
        "Ely",
        "Crewe",
        "Rugby",
        "Stoke",
        "Bath",
        "Exeter",
        "Truro",
        "Oban",
        "Wick",
        "Ayr",
        "Perth",
    )
    with open_eager(tmp_path, write__changes__mark_at=0.03) as memory:
        say(
            memory,
            *(f"Sorry, I misread the sign of the station in {name} again." for name in stations),
            days=3,
        )
        for minute, line in enumerate(
            ("Room 12 has the projector.", "Correction, it's room 14, I misread the sign.")
        ):
            memory.observe(
                [Turn(line, at=START + timedelta(days=400, minutes=minute), session="later")],
                scope=ME,
            )
        assert memory.drain(30)
        assert find(memory, "Which room has the projector?", "Room 12").outdated is not None


def test_ordinary_talk_gets_no_mark(home: Path) -> None:
    """At the defaults, events, thanks, elaborations and requests with code doubt nothing."""
    said = (
        "Hey Rosa! I won my first bowling tournament last week, it felt amazing!",
        "Thanks so much, your support really keeps me going.",
        "Bowling is my way to relax after work, I forget everything.",
        (
            "I'm trying to build a score sheet with Flask 2.3, can you help me with the form?"
            " ```python\nscores = [7, 9]\n```"
        ),
        (
            "Hi Rosa, long time no see! So much has happened. I won another tournament on Friday,"
            " what a night!"
        ),
        "Thanks, I really appreciate it. You always cheer me up!",
        "Playing really helps me to let go of stress, it clears my head.",
        (
            "I'm having trouble with the tests of my score sheet, can you review this?"
            " ```python\nassert total([7, 8]) == 15\n```"
        ),
    )
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, *said, days=9)
        hits = memory.search(
            "bowling tournament score sheet support relax", scope=ME, limit=20
        ).hits
    assert len(hits) >= 6
    assert all(hit.outdated is None for hit in hits)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Enjoy the collaborations, Calvin! Stay safe!", "See ya, Calvin! Stay awesome."),
        ("Thanks, Cal! I really appreciate the boost.", "Thanks Cal, your support means a lot to me."),
        ("You got this, Jon! Keep going!", "Keep it up Jon, you got this now!"),
        ("I played my favorite CS:GO game in an intense tournament.", "I joined a chess club and played an intense game."),
        ("Small things can make a big difference.", "Small steps make a big difference now."),
        ("Leo's school starts at 8:05.", "did school start times change to 8:30 this year?"),
        ("Nora is coeliac so anything for the family has to be gluten free.", "They brought Welsh cakes. Not gluten free, but I coped."),
        ("Always use APA 7th edition citation style when I ask about citations.", "Always use Scrivener's split-screen mode for editing."),
    ],
)  # fmt: skip
def test_what_states_nothing_gets_no_mark(home: Path, old: str, new: str) -> None:
    """Greetings, thanks, cheers, past events, opinions and questions neither outdate nor are they
    outdated; an illness and a rule only by a statement about that very thing.
    """
    with engrams.open(home=home, jobs__workers=0, write__changes__mark_at=0.01) as memory:
        say(memory, old, new, days=20)
        hits = memory.search(old, scope=ME).hits
        assert all(hit.outdated is None for hit in hits)
        assert "outdated" not in memory.context(old, scope=ME).text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I play chess at the club.", "Lately I play table tennis as well, every Tuesday."),
        ("Ich spiele Schach im Verein.", "Seit neuestem spiele ich auch Tischtennis."),
        ("Colecciono sellos.", "También colecciono vinilos, en dos salas."),
        ("Toco el piano.", "También toco el violín, ya no tengo tardes libres."),
        (
            "My grandad lives in Ely and grows the best leeks",
            "other grandad's in Diss now. Leeks: none. Stories: plenty",
        ),
        ("I go to work by bike.", "taking the bus till thursday, flat tyre"),
        ("Ich fahre mit dem Rad zur Arbeit.", "Diese Woche nehme ich die Bahn."),
        ("I'm a dog person.", "Breaking: I've sold the dog and bought eleven cats. April fools!!"),
        ("I live in Leeds.", "My aunt tells everyone, but I did NOT move to York."),
        ("Ich wohne in Bamberg.", "Nein, ich bin nicht nach Fulda gezogen."),
        ("我上司的联系电话是15345254277。", "我婶婶的联系电话换成19845027633了。"),
        ("艺术展的时间是4月12号。", "农业升级大会的时间是4月15号。"),
        ("我的上司生日是在4月12号。", "我的上司今年39岁。"),
        ("我钟爱的手机是华为Mate60。", "我现在用的是华为Mate60手机。"),
    ],
)
def test_what_adds_or_denies_or_passes_ends_nothing(home: Path, old: str, new: str) -> None:
    """One more thing, some days, a joke, a denial, and what belongs to others give no mark."""
    with engrams.open(home=home, jobs__workers=0, write__changes__mark_at=0.2) as memory:
        say(memory, old, new, days=20)
        assert all(hit.outdated is None for hit in memory.search(old, scope=ME).hits)


def test_a_clause_ends_and_not_its_message(home: Path) -> None:
    """Of a message that says two things the clause that is over says so in its place, with the
    words and the day that ended it; the rest stays current and is found first for its own question.
    """
    old = "I'm vegetarian and I live in Paris."
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, old, "I moved to Berlin.", days=60)
        home_hits = memory.search("Where do I live?", scope=ME).hits
        assert "Berlin" in home_hits[0].record.text
        diet_hits = memory.search("Am I vegetarian?", scope=ME).hits
        assert (diet_hits[0].record.text, diet_hits[0].status) == (old, Status.ACTIVE)
        told = 'I\'m vegetarian and I live in Paris [over since 7 March 2025: "I moved to Berlin"].'
        assert told in memory.context("Do I still live in Paris?", scope=ME).text


@pytest.mark.parametrize("preset", PRESETS)
def test_the_rest_of_a_message_stays_current_in_every_preset(home: Path, preset: str) -> None:
    """Whatever is asked, a message that is over in part stands with its ended clause, not as over."""
    old = "I'm vegetarian and I live in Paris."
    with engrams.open(home=home, preset=preset, jobs__workers=0, vault__enabled=False) as memory:
        for days, line in ((0, old), (50, "I moved to Berlin.")):
            memory.add(Turn(line, at=START + timedelta(days=days)), scope=ME)
            assert memory.drain(30)
        current = [record.text for record in memory.list(scope=ME, kinds=(Kind.FACT,)).records]
        assert sorted(current) == ["I moved to Berlin", "I'm vegetarian"]
        for ask in ("Where do I live?", "Am I vegetarian?"):
            said = [hit for hit in memory.search(ask, scope=ME).hits if hit.record.text == old]
            assert {hit.status for hit in said} <= {Status.ACTIVE}
            assert all(
                [mark.clause for mark in hit.ended_clauses] == ["I live in Paris"] for hit in said
            )


@pytest.mark.parametrize(
    ("old", "news"),
    [
        ("I've decided to be vegetarian", "ok update. vegan. properly. no eggs, no honey"),
        ("Ich bin Vegetarierin", "Kleines Update: jetzt vegan. Auch kein Honig."),
        ("Je suis végétarienne", "Changement : végane. Plus de fromage."),
        ("Soy vegetariana", "Novedad: vegana. Ni huevos ni miel."),
    ],
)
def test_another_diet_told_as_news_ends_the_one_before(home: Path, old: str, news: str) -> None:
    """Also where the message goes on; the news of somebody else in the family ends none."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        for days, line, speaker in ((0, old, "Leila"), (20, news, "Joe"), (50, news, "Leila")):
            at = START + timedelta(days=days)
            memory.add(Turn(line, speaker=speaker, at=at), scope=ME)
            assert memory.drain(30)
            marks = [
                hit.outdated
                for hit in memory.search(old, scope=ME).hits
                if hit.record.text == old and hit.outdated is not None and hit.outdated.is_told
            ]
            assert bool(marks) is (days == 50)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_diet_ends_by_what_somebody_eats(home: Path, preset: str) -> None:
    """No rule reads a diet in the newer words: the older is closed or marked all the same."""
    with engrams.open(home=home, preset=preset, jobs__workers=0, vault__enabled=False) as memory:
        for days, line in ((0, "I'm vegetarian"), (50, "I started eating meat again")):
            memory.add(Turn(line, at=START + timedelta(days=days)), scope=ME)
            assert memory.drain(30)
        hits = memory.search("What do I eat, am I vegetarian?", scope=ME).hits
        said = [hit for hit in hits if "vegetarian" in hit.record.text]
        assert all(hit.outdated is not None and hit.outdated.is_told for hit in said)
        assert bool(said) or preset == "engine"


def test_every_door_shows_the_ended_clause(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API lists the clause with its successor's words; the command writes them beside it."""
    with engrams.open(home=home, jobs__workers=0, user="alice") as memory:
        say(memory, "I'm vegetarian and I live in Paris.", "I moved to Berlin.", days=60)
        with TestClient(create_app(memory, memory.settings), base_url="http://localhost") as client:
            hits = client.post("/v1/search", json={"query": "Am I vegetarian?"}).json()["hits"]
    (clause,) = hits[0]["ended_clauses"]
    assert (clause["clause"], clause["words"]) == ("I live in Paris", "I moved to Berlin")
    assert clause["closed"] and hits[0]["status"] == "active"
    monkeypatch.setenv("ENGRAMS_HOME", str(home))
    monkeypatch.setenv("ENGRAMS_USER", "alice")
    assert main(["search", "Am I vegetarian?"]) == 0
    told = 'I live in Paris [over since 7 March 2025: "I moved to Berlin"].'
    assert told in capsys.readouterr().out


def test_a_clause_that_may_be_over_is_marked_in_its_place(home: Path) -> None:
    """A doubt stands beside the clause that it is about, not after the whole message."""
    old = "The office is on the fourth floor. My landlord is Mr Okafor."
    new = "Mr Okafor is gone, the landlord is Ms Brandt now."
    with open_eager(home, write__changes__close_at=1, write__changes__mark_at=0.33) as memory:
        say(memory, old, new)
        hit = find(memory, "Who is my landlord?", "fourth floor")
        assert hit.status is Status.ACTIVE
        assert [mark.clause for mark in hit.ended_clauses] == ["My landlord is Mr Okafor."]
        text = memory.context("Who is my landlord?", scope=ME).text
    assert 'Mr Okafor. [may be outdated, said on 6 April 2025: "' in text


def test_a_message_that_says_more_than_its_ended_fact_stays_current(home: Path) -> None:
    """What no fact was learned from is still said: only the clause that ended is over."""
    old = "I work at Acme, the canteen closes at two."
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, old, "I quit my job at Acme, I work at Bosch now.", days=60)
        hit = find(memory, "When does the canteen close?", "canteen")
        assert hit.status is Status.ACTIVE
        assert "the canteen closes at two" not in [mark.clause for mark in hit.ended_clauses]


CUSTOMERS = ("tenant", "t", "customer")


@pytest.mark.slow
def test_another_customer_outdates_nothing(home: Path) -> None:
    """Of two hundred customers none marks another, nor do its words reach the other's contexts."""
    told = [
        ("I live in Paris.", "I moved to Berlin, Paris is history."),
        ("My landlord is Mr Okafor.", "Mr Okafor is gone, the landlord is Ms Brandt now."),
        ("My bike is a blue Trek.", "Someone stole the Trek, I ride a Canyon now."),
        ("Our cap is 22.", "Put the cap to 23 instead of 22, please."),
    ]
    with engrams.open(home=home, jobs__workers=0, write__changes__mark_at=0.05) as memory:
        for number in range(200):
            first, second = told[number % len(told)]
            for customer, line in ((f"a{number}", first), (f"b{number}", second)):
                at = START + timedelta(days=number, minutes=len(line))
                memory.observe([Turn(line, at=at, session="s")], scope=(*CUSTOMERS, customer))
        assert memory.drain(120)
        for number in range(200):
            first, second = told[number % len(told)]
            scope = (*CUSTOMERS, f"a{number}")
            hits = memory.search(first, scope=scope).hits
            assert [hit.outdated for hit in hits if hit.record.text == first] == [None]
            context = memory.context(first, scope=scope).text
            assert second not in context and "outdated" not in context


def test_words_above_are_outdated_from_below(home: Path) -> None:
    """A customer's statement marks those of the tenant for itself only."""
    tenant = CUSTOMERS[:2]
    with open_eager(home, write__changes__close_at=1, write__changes__mark_at=0.33) as memory:
        old = "My landlord is Mr Okafor."
        memory.observe([Turn(old, at=START, session="s")], scope=tenant)
        new = Turn(
            "Mr Okafor is gone, the landlord is Ms Brandt now.",
            at=START + timedelta(days=90),
            session="s",
        )
        memory.observe([new], scope=(*CUSTOMERS, "c1"))
        assert memory.drain(30)
        marks = {}
        for customer in ("c1", "c2"):
            hits = memory.search("Who is my landlord?", scope=(*CUSTOMERS, customer)).hits
            marks[customer] = next(hit for hit in hits if hit.record.text == old).outdated
        assert marks["c1"] is not None and marks["c2"] is None


def test_news_that_names_the_old_value_casts_doubt(home: Path) -> None:
    """Where the newer statement names what the older one says, another slot is no reason to leave
    it alone.
    """
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(
            memory,
            "Priya is our product manager.",
            "Priya moved to marketing. Our PM is Mateo now.",
        )
        assert find(memory, "Who is our product manager?", "is our product").outdated is not None


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("Crate 0 is in the cellar", "Crate 1 is in the attic", True),
        ("Our depot in Lille has 40 vans", "Our depot in Metz has 25 vans", True),
        ("Das Lager in Kiel öffnet um sechs", "Das Lager in Jena öffnet um sieben", True),
        ("Crate 0 is in the cellar", "Crate 0 is in the attic", False),
        ("Room 12 is ours", "Room 14 is ours now", False),
    ],
)
def test_two_things_of_one_kind_do_not_outdate_each_other(
    tmp_path: Path, one: str, other: str, apart: bool
) -> None:
    """A number or a town tells two things apart;
    the same thing, or a word of change, is still marked.
    """
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        for number, line in enumerate((one, other)):
            memory.observe(
                [Turn(line, at=START + timedelta(days=number), session=f"s{number}")], scope=ME
            )
        assert memory.drain(30)
        hit = find(memory, one, one)
        assert (hit.outdated is None and hit.status is Status.ACTIVE) == apart


@pytest.mark.parametrize(
    ("old", "new", "ends"),
    [
        ("My dentist is Dr. Moreau.", "I've switched dentists, I go to Dr. Keller now.", True),
        ("I work at Siemens.", "I quit Siemens last week and started at Bosch.", True),
        (
            "Our team meeting is on Tuesdays at 10.",
            "The team meeting was moved to Thursdays.",
            True,
        ),
        ("I'm vegetarian.", "I'm not vegetarian any more, I eat meat again.", True),
        ("Meine Handynummer ist 0171 555.", "Neue Nummer: 0160 777.", True),
        ("My number is 0171 555.", "Mum's number is 0160 777.", False),
        ("My flight is at 14:20.", "My brother's flight is at 17:45.", False),
        ("My bus goes at 6:50.", "Their bus goes at 7:20.", False),
        ("Mi dirección es calle Olmo 4.", "La dirección de mi suegra es calle Pino 9.", False),
        ("The rehearsal is at 8.", "I came to the rehearsal too early again.", False),
        ("Ich arbeite in der Bäckerei.", "In der Bäckerei war heute viel los.", False),
        ("Mittwochs ist Bandprobe.", "Diesen Mittwoch fällt die Bandprobe aus.", False),
        ("I bench 60 kilos.", "My goal is 80 kilos.", False),
        ("Rehearsal is this Friday at 7.", "Rehearsal moved to this Friday at 9.", True),
        ("Our umpire is Hester, ex-county, fair.", "Hester went abroad. New umpire: Idris.", True),
        ("Unser Hausarzt ist Dr. Pfaff, sehr nett.", "Neuer Hausarzt: Dr. Senf.", True),
        ("My bike is a Koga.", "New bike shop: Ada's in Mill Lane.", False),
    ],
)
def test_first_minute(tmp_path: Path, old: str, new: str, ends: bool) -> None:
    """At the defaults, what a plain change ends is shown as such or left out, right after the
    statement; what is said of another person changes nothing.
    """
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        say(memory, old, new, days=0.0001)
        told = memory.context(old, scope=ME).text
    is_marked = "may be outdated" in told or "no longer so" in told
    assert (is_marked or old.rstrip(".") not in told) is ends
