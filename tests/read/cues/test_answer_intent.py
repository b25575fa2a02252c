"""What sort of answer a query wants, and from when."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engrams.read.cues import parse_query

NOW = datetime(2023, 7, 12, 15, 30, tzinfo=UTC)
TWO = {"Caroline": 200, "Melanie": 210}

KINDS = [
    ("When did Melanie paint a sunrise?", "when"),
    ("What year did she move?", "when"),
    ("How long have they been married?", "when"),
    ("Who supports Caroline when she is sad?", "who"),
    ("Whose birthday was it?", "who"),
    ("How many children does Melanie have?", "how_many"),
    ("How often does she swim?", "how_many"),
    ("Where does she live?", "where"),
    ("Which country is her grandma from?", "where"),
    ("What did Melanie say about pottery?", "said"),
    ("What book did you recommend?", "said"),
    ("What activities does Melanie do?", "list"),
    ("What are her plans?", "list"),
    ("Did Melanie swim?", "did"),
    ("Is she married?", "did"),
    ("Why did she cry?", "other"),
    ("pottery class", "other"),
    ("Wann war das?", "when"),
    ("Wie viele Kinder hat sie?", "how_many"),
    ("Wo wohnt er?", "where"),
    ("Wer war dabei?", "who"),
    ("Was hat sie empfohlen?", "said"),
    ("Ist sie verheiratet?", "did"),
    ("¿Cuándo fue?", "when"),
    ("¿Cuántos hijos tiene?", "how_many"),
    ("¿Dónde vive?", "where"),
    ("¿Quién vino?", "who"),
    ("¿Qué dijo ella?", "said"),
    ("Quand est-elle partie ?", "when"),
    ("Combien d'enfants a-t-elle ?", "how_many"),
    ("Où habite-t-il ?", "where"),
    ("Qui est venu ?", "who"),
    ("什么时候去的？", "when"),
    ("有多少只猫？", "how_many"),
    ("她住在哪里？", "where"),
    ("谁来了？", "who"),
    ("她说了什么？", "said"),
    ("你喜欢猫吗？", "did"),
    ("いつ行きましたか", "when"),
    ("何人いますか", "how_many"),
    ("どこに住んでいますか", "where"),
    ("誰が来ましたか", "who"),
    ("猫が好きですか", "did"),
]


@pytest.mark.parametrize(("query", "kind"), KINDS)
def test_kind(query: str, kind: str) -> None:
    """A question's first telling word says what it wants."""
    cues = parse_query(query, NOW, TWO)
    assert cues.kind == kind
    assert cues.wants_time or kind != "when"


@pytest.mark.parametrize(
    "query",
    [
        "Where does she live now?",
        "What is her current job?",
        "Is she still married?",
        "Wo wohnt sie jetzt?",
        "¿Dónde vive ahora?",
        "Où habite-t-elle maintenant ?",
        "她现在住在哪里",
        "今はどこに住んでいますか",
    ],
)
def test_latest(query: str) -> None:
    """Some queries want what holds now."""
    cues = parse_query(query, NOW, TWO)
    assert (cues.wants_current, cues.wants_past) == (True, False)


@pytest.mark.parametrize(
    "query",
    [
        "Where did she use to live?",
        "Where did she live before?",
        "What was her previous job?",
        "Wo wohnte sie früher?",
        "¿Dónde vivía antes?",
        "Où habitait-elle avant ?",
        "她以前住在哪里",
        "もともとどこに住んでいましたか",
        "前はどこに住んでいましたか",
    ],
)
def test_past(query: str) -> None:
    """Some queries want what held once."""
    cues = parse_query(query, NOW, TWO)
    assert (cues.wants_current, cues.wants_past) == (False, True)


@pytest.mark.parametrize(
    "query",
    [
        "In which order did I bring up the parts of the garden?",
        "Can you summarize what we said about the roof?",
        "How has my training progressed?",
        "What did I plan throughout our chats?",
        "In welcher Reihenfolge haben wir renoviert?",
        "¿En qué orden visité las ciudades?",
        "Dans quel ordre a-t-elle lu ces livres ?",
        "总结一下我们的计划",
        "旅行の経緯をまとめて",
    ],
)
def test_course(query: str) -> None:
    """Some queries want things from the whole time."""
    assert parse_query(query, NOW, TWO).wants_course


@pytest.mark.parametrize(
    "query",
    ["Where is my resume?", "What did I order last week?", "What did Melanie do in order to rest?"],
)
def test_no_course(query: str) -> None:
    """An order from a shop and a purpose are no course of things."""
    assert not parse_query(query, NOW, TWO).wants_course


@pytest.mark.parametrize("query", ["What did Melanie paint?", "妹の名前は?", "午前は何をしますか"])
def test_neither(query: str) -> None:
    """Most queries want neither: a name (名前) or a morning (午前) is not the past (前)."""
    cues = parse_query(query, NOW, TWO)
    assert (cues.wants_current, cues.wants_past, cues.wants_time, cues.spans) == (
        False,
        False,
        False,
        (),
    )


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        (
            "Where does Ann live, and when did she move?",
            ("Where does Ann live", "when did she move?"),
        ),
        ("Who came? What did they eat?", ("Who came", "What did they eat?")),
        ("What do Ann and Bob like?", ("What do Ann and Bob like?",)),
        ("Wo wohnt sie und wann kam sie?", ("Wo wohnt sie", "wann kam sie?")),
        ("她住在哪里，什么时候搬的？", ("她住在哪里", "什么时候搬的？")),
        ("", ("",)),
    ],
)
def test_parts(query: str, parts: tuple[str, ...]) -> None:
    """A query of two questions falls into them; one stays whole."""
    assert parse_query(query, NOW, TWO).questions == parts


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("What did Melanie do in March 2022?", "2022-03-01", "2022-04-01"),
        ("Was hat sie letzte Woche gemacht?", "2023-07-03", "2023-07-10"),
        ("¿Qué hizo en mayo de 2022?", "2022-05-01", "2022-06-01"),
        ("Qu'a-t-elle fait hier ?", "2023-07-11", "2023-07-12"),
        ("她昨天做了什么？", "2023-07-11", "2023-07-12"),
        ("先週何をしましたか", "2023-07-03", "2023-07-10"),
    ],
)
def test_spans(query: str, start: str, end: str) -> None:
    """The times of a query are found in each language."""
    (span,) = parse_query(query, NOW, TWO).spans
    assert (span.start.date().isoformat(), span.end.date().isoformat()) == (start, end)


def test_as_json_leaves_out_what_is_empty() -> None:
    """A trace shows what was understood and nothing else."""
    understood = parse_query("When did Melanie swim in March 2022?", NOW, TWO).to_json()
    assert understood["about"] == ["Melanie"]
    assert understood["times"] == [
        {
            "text": "March 2022",
            "from": "2022-03-01T00:00:00+00:00",
            "to": "2022-04-01T00:00:00+00:00",
            "grain": "month",
        }
    ]
    assert "role" not in understood
    assert "parts" not in understood
