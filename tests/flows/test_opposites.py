"""A statement is marked when its speaker says the contrary, unless both can hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import engrams
from engrams import MemoryEngine, Turn

START = datetime(2025, 1, 6, 12, tzinfo=UTC)
CONTRARY = (
    ("Take the pills before meals.", "Take the pills after meals."),
    ("Our landlord is against pets.", "Our landlord is for pets."),
    ("The thermostat sits below the mirror.", "The thermostat sits above the mirror."),
    ("The cabin is booked until Friday.", "The cabin is booked from Friday."),
    ("We spend more than 400 euros on food.", "We spend less than 400 euros on food."),
    ("I take zinc tablets in the evening.", "Zinc tablets with breakfast now."),
    ("Das Magnesium nehme ich abends.", "Magnesium jetzt zum Frühstück."),
    ("Le sirop le matin.", "Le sirop au coucher."),
    ("The archive is on floor 4.", "The archive is not on floor 4."),
    ("The backup job runs on the old server.", "The backup job doesn't run on the old server."),
    ("I can swim.", "I can't swim."),
    ("The elevator doesn't stop on level 2.", "The elevator stops on level 2."),
    ("Ich nehme die Tabletten vor dem Essen.", "Ich nehme die Tabletten jetzt nach dem Essen."),
    ("Wir haben einen Hund.", "Wir haben keinen Hund mehr."),
    ("Bebo el café con azúcar.", "Bebo el café sin azúcar."),
    ("La clé est sur le compteur.", "La clé est sous le compteur."),
    ("La chaudière marche la nuit.", "La chaudière ne marche pas la nuit."),
    ("我喝咖啡加糖。", "我喝咖啡不加糖。"),
    ("我会游泳。", "我不会游泳。"),
    ("薬は食前に飲みます。", "薬は食後に飲みます。"),
    ("私は泳げます。", "私は泳げません。"),
)
COMPATIBLE = (
    ("There is parking before the bridge.", "There is parking after the bridge."),
    ("On Mondays I take the pills before meals.", "On Fridays I take the pills after meals."),
    ("In summer I run before work.", "In winter I run after work."),
    ("The lift goes up to the terrace.", "The lift goes down to the terrace."),
    ("The shop is open from 8.", "The shop is open until 8."),
    ("I can pay with the app.", "I can pay without the app."),
    ("I drink my coffee with milk.", "Do I drink my coffee without milk?"),
    ("The archive is on floor 4.", "If the archive is not on floor 4, ask Ben."),
    ("I took the pills before dinner.", "I took the pills after dinner."),
    ("I water the ferns in the morning.", "I water the ferns in the evening."),
    ("I take zinc tablets in the evening.", "I also take zinc tablets with breakfast."),
    ("I take zinc tablets in the evening.", "I take iron tablets in the morning."),
    ("Anna can swim.", "I can't swim."),
    ("It works.", "It doesn't work."),
    ("Some of us work from home.", "Some of us don't work from home."),
    (
        "Montags nehme ich die Tropfen vor dem Essen.",
        "Dienstags nehme ich die Tropfen nach dem Essen.",
    ),
    ("Ich kann schwimmen.", "Er kann nicht schwimmen."),
    ("Puedo conducir.", "No puede conducir."),
    ("Il y a un parking avant le pont.", "Il y a un parking après le pont."),
    ("白色的药饭前吃。", "蓝色的药饭后吃。"),
    ("妹は泳げます。", "私は泳げません。"),
)


def say(memory: MemoryEngine, lines: tuple[str, str], owner: str) -> None:
    """Say two lines as one speaker, twenty days apart."""
    for number, line in enumerate(lines):
        turn = Turn(line, at=START + number * timedelta(days=20), session=f"s{number}")
        memory.observe([turn], scope=("user", owner))


def list_marked(memory: MemoryEngine, text: str, owner: str) -> dict[str, str]:
    """List the marked messages that a search finds, each with the words given as the reason."""
    return {
        hit.record.text: hit.outdated.words
        for hit in memory.search(text, scope=("user", owner)).hits
        if hit.outdated is not None and hit.outdated.is_told
    }


def test_the_contrary_of_a_statement_marks_it_and_is_the_reason(home: Path) -> None:
    """In six languages the earlier statement is marked, with the later one's words."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        for number, lines in enumerate(CONTRARY):
            say(memory, lines, f"p{number}")
        assert memory.drain(120)
        marked = {
            earlier: list_marked(memory, earlier, f"p{number}")
            for number, (earlier, _) in enumerate(CONTRARY)
        }
    assert marked == {earlier: {earlier: later} for earlier, later in CONTRARY}


def test_what_can_hold_beside_each_other_marks_nothing(home: Path) -> None:
    """Other places, days, persons, hours and conditions, questions and past events mark nothing."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        for number, lines in enumerate(COMPATIBLE):
            say(memory, lines, f"p{number}")
        assert memory.drain(120)
        marked = [
            lines
            for number, lines in enumerate(COMPATIBLE)
            if list_marked(memory, lines[0], f"p{number}")
        ]
    assert marked == []


def test_only_the_clause_that_is_contradicted_is_over(home: Path) -> None:
    """A message keeps what it says beside the contradicted clause."""
    earlier = "My tortoise is called Tilda. I can swim."
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, (earlier, "I can't swim."), "p")
        assert memory.drain(60)
        hits = memory.search("swim", scope=("user", "p")).hits
        marks = [hit.outdated for hit in hits if hit.record.text == earlier]
    assert [(mark.clause, mark.closed) for mark in marks if mark] == [("I can swim.", False)]
