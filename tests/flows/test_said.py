"""What sentences teach: facts as they were said, rules of how to answer, and nothing from what tells nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine
from engrams.core import TIMES, Kind, Record, Status, Turn

_AT = datetime(2026, 11, 28, 10, tzinfo=UTC)
_STATEMENTS = (Kind.FACT, Kind.PREFERENCE, Kind.RULE, Kind.NEGATIVE, Kind.PROCEDURE)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryEngine]:
    """A memory in which each test has a scope of its own."""
    home: Path = tmp_path_factory.mktemp("said")
    with engrams.open(home=home, jobs__workers=0) as memory:
        yield memory


def learn(memory: MemoryEngine, text: str) -> list[Record]:
    """Add a message for somebody new, and list what is learned."""
    scope = ("user", f"person {text}")
    memory.add(Turn(text, at=_AT), scope=scope)
    return list(memory.list(scope=scope, kinds=_STATEMENTS).records)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Please answer in metric units.", Kind.RULE),
        ("Please keep your answers short.", Kind.RULE),
        ("When I ask for recipes, leave out coriander.", Kind.RULE),
        ("Explain things to me like I'm a beginner.", Kind.RULE),
        ("Don't call me Jonathan, it's Jon.", Kind.NEGATIVE),
        ("Bitte antworte kurz.", Kind.RULE),
        ("Duz mich bitte.", Kind.RULE),
        ("Keine Emojis bitte.", Kind.NEGATIVE),
        ("Trátame de usted.", Kind.RULE),
        ("No uses emojis, por favor.", Kind.NEGATIVE),
        ("Réponds toujours en français.", Kind.RULE),
        ("Pas d'emojis s'il te plaît.", Kind.NEGATIVE),
        ("请用中文回答我。", Kind.RULE),
        ("回答は短くしてください。", Kind.RULE),
        ("絵文字は使わないでください。", Kind.NEGATIVE),
        ("Don't suggest restaurants with valet parking.", Kind.NEGATIVE),
        ("Stop ending your messages with a question.", Kind.NEGATIVE),
        ("Bitte schreiben Sie mir immer mit Sie", Kind.RULE),
        ("Prefiero que me hables de tú.", Kind.RULE),
        ("Donne-moi les distances en kilomètres.", Kind.RULE),
        ("别用英文缩写。", Kind.NEGATIVE),
        ("When I send a photo, describe it first.", Kind.RULE),
        ("I prefer long, detailed answers.", Kind.RULE),
        ("Lass die Floskeln weg.", Kind.NEGATIVE),
        ("Contéstame en frases cortas.", Kind.RULE),
        ("说话直接一点。", Kind.RULE),
        ("敬語は使わなくていいです。", Kind.NEGATIVE),
        ("Keep your summaries under ten lines.", Kind.RULE),
        ("No lists please.", Kind.NEGATIVE),
        ("Ohne Floskeln bitte.", Kind.NEGATIVE),
        ("Nunca uses palabrotas.", Kind.NEGATIVE),
        ("Pas de listes, merci.", Kind.NEGATIVE),
        ("不要用表格。", Kind.NEGATIVE),
        ("説明は短く。", Kind.RULE),
        ("If you're not sure, say so.", Kind.RULE),
        ("Don't start every reply with 'Great question'.", Kind.NEGATIVE),
        ("Could you address me as Dr. Alvarez from now on?", Kind.RULE),
        ("I prefer tables over long prose.", Kind.RULE),
        ("Wenn du rechnest, zeig mir den Rechenweg.", Kind.RULE),
        ("Du kannst mich ruhig duzen.", Kind.RULE),
        ("Si no lo sabes, dilo y ya está.", Kind.RULE),
        ("Quiero que me corrijas cuando escriba mal.", Kind.RULE),
        ("Je veux que tu cites toujours tes sources.", Kind.RULE),
        ("Ne mets pas d'émojis dans tes réponses.", Kind.NEGATIVE),
        ("如果你不确定，就直接说。", Kind.RULE),
        ("説明するときは例を挙げてください。", Kind.RULE),
    ],
)
def test_how_to_answer_is_a_rule(memory: MemoryEngine, text: str, kind: Kind) -> None:
    """A wish of how to answer is a rule in the words of the speaker, without "always"."""
    assert [(rule.kind, rule.text) for rule in learn(memory, text)] == [(kind, text.rstrip(".?。"))]


@pytest.mark.parametrize(
    "text",
    [
        "Can you write this email in short sentences?",
        "Show us the menu.",
        "Gib mir nur ein Beispiel.",
        "Make dinner.",
        "Please translate it. Answer in one sentence.",
        "Keep this letter short.",
        "Kannst du das kurz erklären?",
        "Escríbeme esta carta sin rodeos.",
        "Réponds à cette question.",
        "no food names pls",
        "my brother thinks im nuts",
        "I can't stop smiling",
        "I am writing to ask about visa rules for Japan.",
        "Let me check with my wife first.",
        "Ich habe gestern mit ihm gesprochen, er war freundlich",
        "hab grad voll hunger",
        "Guten Morgen, ich brauche Unterstützung bei einer Kündigung.",
        "Mis compañeros son estupendos.",
        "me quedo con la primera",
        "necesito ideas para el cumple de mi hija",
        "Moment, ich muss kurz ans Telefon.",
        "my blood type is A positive i think",
        "Ayer fui a la biblioteca y estaba cerrada.",
        "Je suis crevé ce soir.",
        "ありがとう、できました!",
        "950 a month my half",
        "el Requiem de Fauré",
        "flight is 3 hours late",
        "No lists in the tender, says procurement.",
        "I'm kinda struggling to find a balance between my schedule and Michael's preferences.",
        "I've got 9 + 16 = 25.",
        "I have two triangles with sides 6, 8, 10 cm and 9, 12, 15 cm.",
        "I think a group hike at the local park would be perfect.",
        "I'm looking for movie recommendations with subtitles.",
        "I've scheduled them to start on October 10.",
        "I joined on April 5.",
        "I dropped Emil at the station.",
        "Never end a meeting without an action list, my coach says.",
        "If you're not sure about the date, the invite is in my calendar.",
        "Quand tu passes à la boulangerie, prends du pain.",
        "Je préfère que tu viennes samedi.",
        "Can you give me the temperature in Celsius for 98 °F?",
        "was schenk ich meiner Tante zum Sechzigsten",
        "pls check our flat hunt list",
        "Papiertonne geht raus, erinner mich bitte am Vorabend",
        "Sí, claro, y ahora mi gimnasio es el sofá, jajaja.",
        "we're 5 now, with the new bassist",
        "Genau, und ab Montag schlafe ich nur noch im Zelt und züchte Yaks. Haha, Quatsch.",
    ],
)
def test_the_task_at_hand_and_pieces_teach_nothing(memory: MemoryEngine, text: str) -> None:
    """An order about one text is no rule, and a piece of a list no fact."""
    assert learn(memory, text) == []


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        (
            "Mi vecino de arriba se llama Unai y es enfermero, así que tengo inyecciones gratis",
            "Mi vecino de arriba se llama Unai y es enfermero",
        ),
        (
            "Ya no fumo puros, llevo seis meses y medio",
            "Ya no fumo puros, llevo seis meses y medio",
        ),
        ("Llevo dos años trabajando en Lugo", "Llevo dos años trabajando en Lugo"),
        (
            "Sande, our lodger, is seventy and plays the harp",
            "Sande, our lodger, is seventy and plays the harp",
        ),
        ("tamsin and i broke up. it's fine", "tamsin and i broke up"),
        (
            "Arbeite bis Mai in Halle 3, weil bei mir im Büro Asbest gefunden wurde",
            "Arbeite bis Mai in Halle 3, weil bei mir im Büro Asbest gefunden wurde",
        ),
    ],
)
def test_a_piece_without_its_subject_stays_with_it(
    memory: MemoryEngine, text: str, statement: str
) -> None:
    """Alone it would be about the speaker, or leave out who, what or the thing it is a reason of."""
    statements = [fact.text for fact in learn(memory, text)]
    assert statement in statements
    assert not any(
        piece.startswith(("es ", "llevo ", "our ", "i ", "weil ")) for piece in statements
    )


@pytest.mark.parametrize(
    ("text", "triples"),
    [
        (
            "My mum's name is Ana, she lives in Porto.",
            {("user's mum", "is_named", "Ana"), ("user's mum", "lives_in", "Porto")},
        ),
        ("Bin day is Wednesday now.", {("bin day", "is", "Wednesday")}),
        ("I have a viewing on Friday, second floor", {("user", "has", "viewing, second floor")}),
        ("PV is 7.4 kWp on the roof facing west", {("PV", "", "")}),
        ("My locker at the pool is 212.", {("user's locker at the pool", "", "")}),
        ("rent is 950 a month", {("rent", "is", "950 a month")}),
        ("my boss is called Ana, comes in at nine", {("user", "manager", "Ana")}),
        (
            "my landlord is called Wim Claes, rent is 1450 a month, goes up to 1500 in january",
            {("user", "landlord", "Wim Claes"), ("rent", "is", "1450 a month")},
        ),
        ("I was fired from Tesco", {("user", "works_at", "Tesco")}),
        ("ich wohne in einer WG in Leipzig", {("user", "lives_in", "Leipzig")}),
        ("je vis en coloc avec Manon et Théo", {("user", "", "")}),
        ("mi hermana vive en pareja", {("user", "", "")}),
        ("I take warfarin, so I must carry a letter.", {("user", "takes", "warfarin")}),
        ("I have arthritis in both thumbs.", {("user", "has_condition", "arthritis")}),
        ("I'm allergic to cats so shared stairwells worry me", {("user", "allergic_to", "cats")}),
        ("we split up in march", {("user", "dating", "")}),
        ("Ich bin Linkshänder.", {("user", "trait", "Linkshänder")}),
        ("Mon mari est pompier.", {("user's husband", "is", "pompier")}),
        ("Soy viudo.", {("user", "marital_status", "viudo")}),
        ("Je suis veuve.", {("user", "marital_status", "veuve")}),
        ("豚肉は食べません。", {("user", "eats", "豚肉")}),
        ("Peso 82 kilos y mido 1,78.", {("user", "weight", "82 kilos")}),
        ("私は大阪出身です。", {("user", "from", "大阪")}),
        ("Mi mujer, Rosario, falleció hace dos años.", {("user", "", "")}),
        ("Ich fahre einen Diesel, den wir verkaufen wollen.", {("user", "", "")}),
        ("叫我小林就好", {("user", "is_named", "小林")}),
        ("Nenn mich bitte Ali", {("user", "is_named", "Ali")}),
        ("Emil is allergic to hazelnuts", {("Emil", "allergic_to", "hazelnuts")}),
        ("Emil has football on Mondays.", {("Emil", "", "")}),
        ("Lucía tiene piano los jueves.", {("Lucía", "", "")}),
        ("Nora has a peanut allergy.", {("Nora", "allergic_to", "peanut")}),
        ("Emil ist allergisch gegen Haselnüsse.", {("Emil", "allergic_to", "Haselnüsse")}),
        ("Lucía es alérgica a las nueces.", {("Lucía", "allergic_to", "nueces")}),
        ("Emil isn't allergic to nuts any more.", {("Emil", "", "")}),
        ("I live at 5 Mill Lane, Bath.", {("user", "address", "5 Mill Lane")}),
        (
            "Wir nehmen das Haus! Ab 1. August: Rilkestraße 9, 04416 Markkleeberg.",
            {("user", "", ""), ("user", "address", "Rilkestraße 9")},
        ),
        (
            "on a la maison : 3 chemin des Peupliers, clés le 2 mai",
            {("user", "address", "3 chemin des Peupliers")},
        ),
        ("hasta ahora vivimos de alquiler en la calle Feria 12", {("user", "", "")}),
        ("The dentist is at 14 Unthank Road, we moved the appointment.", {("dentist", "", "")}),
    ],
)
def test_whose_it_is(memory: MemoryEngine, text: str, triples: set[tuple[str, str, str]]) -> None:
    """Subject, predicate and object name whose value it is, and which."""
    facts = learn(memory, text)
    assert {fact.kind for fact in facts} == {Kind.FACT}
    learned = {(fact.subject, fact.predicate, fact.object) for fact in facts}
    assert learned == triples


def test_a_trip_for_a_birthday_is_one_planned_day(memory: MemoryEngine) -> None:
    """Driving somewhere is a plan and no possession, and the day of a birthday's feast comes once."""
    said = "We're driving to Porto on the 14th of December for my mother's 70th birthday."
    (fact,) = learn(memory, said)
    assert (fact.predicate, fact.object, fact.category) == ("plans_to", "drive to Porto", "plan")
    (time,) = fact.meta[TIMES]
    assert "recurs" not in time
    assert time["start"] == "2026-12-14T00:00:00+00:00"


def tell(memory: MemoryEngine, scope: tuple[str, str], *lines: str) -> None:
    """Say lines, three weeks apart."""
    for number, line in enumerate(lines):
        turn = Turn(line, at=_AT + timedelta(weeks=3 * number), session="s")
        memory.observe([turn], scope=scope)
        assert memory.drain(30)


@pytest.mark.parametrize(
    ("old", "new", "fact"),
    [
        ("I smoke about ten a day, yes I know", "quit smoking", "I smoke about ten a day"),
        (
            "Los tests los corremos con Jest, cobertura mínima 80 %.",
            "Desde el PR 512 todo corre en Vitest, la mitad de tiempo. El 80 % de cobertura sigue siendo sagrado.",
            "Los tests los corremos con Jest",
        ),
    ],
)
def test_a_fact_ends_where_its_message_is_marked(
    memory: MemoryEngine, old: str, new: str, fact: str
) -> None:
    """Of a probable change the message keeps a mark, and its fact is current no more; "it still holds"
    brings it back.
    """
    scope = ("user", f"change {old}")
    tell(memory, scope, old, new)
    (message,) = [hit for hit in memory.search(old, scope=scope).hits if hit.record.text == old]
    assert message.status is Status.ACTIVE
    assert message.outdated is not None and message.outdated.is_told
    assert not [text for text in list_facts(memory, scope) if text.startswith(fact)]
    memory.restore(message.record.id, scope=scope)
    assert [text for text in list_facts(memory, scope) if text.startswith(fact)]


def list_facts(memory: MemoryEngine, scope: tuple[str, str]) -> list[str]:
    """List the texts of all current facts."""
    return [record.text for record in memory.list(scope=scope, kinds=_STATEMENTS).records]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("use ruff for formatting", "use bun now, not pnpm"),
        ("don't mock the database in tests", "we moved from jenkins to buildkite"),
        ("mypy is on strict in ci", "we moved from jenkins to buildkite"),
        ("use uv, not poetry", "rip out celery, use procrastinate"),
        ("prices are decimal(10,2)", "image uploads: max 5 MB"),
        ("errors in the api as problem+json", "mypy is on strict in ci"),
    ],
)
def test_a_rule_is_ended_by_news_of_the_very_same_thing(
    memory: MemoryEngine, old: str, new: str
) -> None:
    """News that says what it replaces marks nothing that was said of other things."""
    scope = ("user", f"rules {old} {new}")
    tell(memory, scope, old, new)
    hits = [hit for hit in memory.search(old, scope=scope).hits if hit.record.text == old]
    assert hits and not any(hit.outdated for hit in hits)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My locker at the pool is 212.", "the one at work is 77, in case I forget"),
        ("yoga is mondays 18:30", "and Teo's swimming lesson got moved to 17:15 on thursdays"),
        ("The key safe code is 5518.", "wait is it 5581?? no idea. I'll check at home"),
        (
            "I take my tea with two sugars.",
            'My colleague Anselm wrote in the chat: "I\'ve stopped taking sugar in my tea". Good for him.',
        ),
        ("我在广告公司上班，每天坐地铁。", "这两天地铁停运，只好打车上班。"),
    ],
)
def test_other_things_passing_days_questions_and_quotations_mark_nothing(
    memory: MemoryEngine, old: str, new: str
) -> None:
    """What holds still holds after news of another thing, of some days, of somebody quoted, or a question."""
    scope = ("user", f"marks {old}")
    turns = [
        Turn(text, at=_AT + timedelta(minutes=7 * number), session="s")
        for number, text in enumerate((old, new))
    ]
    for turn in turns:
        memory.observe([turn], scope=scope)
        assert memory.drain(30)
    hits = [hit for hit in memory.search(old, scope=scope).hits if hit.record.text == old]
    assert hits and not any(hit.outdated for hit in hits)
