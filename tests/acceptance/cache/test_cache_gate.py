"""The tiered cache's document (000), its way in:
gate, repetitions, pairs of message and answer, and importance, through the served API.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import Door, eventually, served

from engrams.testing import ReceivedModelRequest, ScriptedModel, ScriptedReply

AGENT = "implementation"
UMBRELLA = "Take an umbrella along and enjoy the walk to the ferry."
PROGRAMS = (
    "TypeError: Cannot read properties of undefined (reading 'x')\n    at foo (app.js:3:4)",
    "java.net.SocketTimeoutException: connect timed out",
    "[LLM error: timed out]",
    "thread 'main' panicked at src/main.rs:4:5:",
    "panic: runtime error: index out of range [5] with length 3",
    "No response from server",
    "ORA-01017: invalid username/password; logon denied",
    "mv: cannot move 'a' to 'b': Permission denied",
)
OKAY = "Okay, I will remember that for you."


def answer(request: ReceivedModelRequest) -> Any:
    """A judge that finds small talk worthless, and an assistant that says the same to most of what
    it is told.
    """
    said = request.messages[-1][1]
    if "How much will it matter" in said:
        is_small_talk = 'said: "Haha' in said or ('said: "No."' in said and "hotline" not in said)
        return "0.1" if is_small_talk else "0.8"
    if request.schema is not None:
        return {"statements": []}
    if "silly grey sky" in said:
        return ScriptedReply(UMBRELLA)
    if "Sundays" in said:
        return ScriptedReply("No.")
    if "lift" in said:
        return ScriptedReply("Broken." if said.endswith("??") else "It works.")
    if "fish" in said or "June" in said:
        return ScriptedReply(f"Noted: {said}")
    return ScriptedReply(OKAY)


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("gate") / "home"
    with ScriptedModel(answer=answer) as model:
        chat = {
            "chat.provider": "openai",
            "chat.model": "m",
            "chat.url": model.url,
            "tiers.working_size": "2",
        }
        options = [part for name, value in chat.items() for part in ("--set", f"{name}={value}")]
        with served("cache", home, model, *options) as door:
            yield door


@pytest.fixture(scope="module")
def quoting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """The same without a model."""
    with (
        ScriptedModel() as model,
        served("cache", tmp_path_factory.mktemp("quoting") / "home", model, L0_MAXLEN="2") as door,
    ):
        yield door


def talk(door: Door, message: str) -> Any:
    return door.post(f"/api/chat/{AGENT}", {"message": message})


def selected(trace: Any) -> list[str]:
    return [row["text"] for row in trace["rows"] if row["selected"]]


def settle(door: Door) -> None:
    eventually(lambda: door.get("/api/jobs")["in_flight"] == 0)


def consolidate(door: Door) -> list[str]:
    """Move everything to the long term; the pairs, in the order of saying."""
    settle(door)
    door.post(f"/api/consolidate/{AGENT}")
    rows = [row for row in door.get(f"/api/registry/{AGENT}")["rows"] if row["kind"] == "exchange"]
    return [row["content"] for row in sorted(rows, key=lambda row: str(row["created_at"]))]


@pytest.mark.covers("S0.24", "S0.3", "S0.9")
@pytest.mark.slow
def test_an_answer_stands_beside_the_message_that_it_answered(door: Door) -> None:
    """However short it is, and though the same was answered before: without it, what was asked and
    found out is lost. What an answer is worth is judged beside its message. A repeated message stays
    out, and is named as skipped.
    """
    talk(door, "Haha, what a silly grey sky over the harbour today.")
    settle(door)
    assert talk(door, "Can our customers reach the hotline on Sundays?")["skipped"] == []
    talk(door, "My sister Ines plays the cello in Ghent.")
    talk(door, "Our canteen serves fish on Fridays.")
    talk(door, "The school play is on the second of June.")
    settle(door)
    again = talk(door, "My sister Ines plays the cello in Ghent.")
    assert [skipped["text"] for skipped in again["skipped"]] == [
        "My sister Ines plays the cello in Ghent.",
        OKAY,
    ]
    tram = "The tram line four is closed until May because of the bridge."
    assert talk(door, tram)["skipped"] == []
    assert consolidate(door) == [
        f"User: \nAgent: {UMBRELLA}",
        "User: Can our customers reach the hotline on Sundays?\nAgent: No.",
        f"User: My sister Ines plays the cello in Ghent.\nAgent: {OKAY}",
        (
            "User: Our canteen serves fish on Fridays.\nAgent: Noted: Our canteen serves fish on"
            " Fridays."
        ),
        (
            "User: The school play is on the second of June.\nAgent: Noted: The school play is on"
            " the second of June."
        ),
        f"User: {tram}\nAgent: {OKAY}",
    ]


@pytest.mark.covers("S0.24", "S0.3")
@pytest.mark.slow
def test_a_new_answer_to_a_repeated_question_is_kept_with_it(door: Door) -> None:
    """The question is skipped, but what was found out this time is not lost; the same answer again
    is.
    """
    asked = "What is the state of the goods lift?"
    talk(door, asked)
    talk(door, "The canteen of the old mill closes at three.")
    settle(door)
    again = talk(door, asked)["skipped"]
    assert [skipped["text"] for skipped in again] == [asked, "It works."]
    assert [skipped["text"] for skipped in talk(door, f"{asked}?")["skipped"]] == [f"{asked}?"]
    lift = [pair for pair in consolidate(door) if "lift" in pair]
    assert lift == [f"User: {asked}\nAgent: It works.", f"User: {asked}?\nAgent: Broken."]


@pytest.mark.covers("S0.39")
def test_the_last_turns_are_in_a_prompt_once(door: Door) -> None:
    """A client that sends the conversation itself gets none of it again from memory; and a pair of
    message and answer is not said to be one person's words.
    """
    before = "Our rowing boat Windrose lies at the north pier."
    talk(door, before)
    first, question = "The rowing boat has red oars.", "What oars does our rowing boat have?"
    history = [{"role": "user", "content": first}]
    door.post("/v1/chat/completions", {"model": "m", "messages": history})
    history += [{"role": "assistant", "content": OKAY}, {"role": "user", "content": question}]
    door.post("/v1/chat/completions", {"model": "m", "messages": history})
    prompts = [
        "\n".join(text for _, text in request.messages)
        for request in door.model.requests
        if request.messages[-1][1].endswith(question)
    ]
    assert prompts[-1].count(first) == 1
    consolidate(door)
    talk(door, "Where does our rowing boat Windrose lie?")
    prompt = door.prompt_of("Where does our rowing boat Windrose lie?")
    assert f"- User: {before} Agent: {OKAY}" in prompt


@pytest.mark.covers("S0.1", "S0.2")
def test_what_is_too_short_or_noise_is_dropped_with_a_reason(quoting: Door) -> None:
    """One word of small talk, however often, words of assent alone, and what machinery says;
    not a short fact of any script, small talk of several words, nor what people tell of errors.
    """
    pool = (
        "HTTPConnectionPool(host='localhost', port=11434): Max retries exceeded with url:"
        " /api/generate"
    )
    for text, reason in {
        **dict.fromkeys(("k", "hi", "ok", "hm", "x"), "short"),
        **dict.fromkeys(("ok ok", "Okay, sure!", "yes yes yes", "ja ja", "vale vale"), "short"),
        **dict.fromkeys(("got it", "alright then", "danke dir", "muchas gracias"), "short"),
        **dict.fromkeys(("d'accord, merci", "thanks, thanks!", "はい、はい", "好的好的"), "short"),
        "y": "stop_words",
        **dict.fromkeys((pool, *PROGRAMS), "noise"),
    }.items():
        assert talk(quoting, text)["skipped"] == [{"text": text, "reason": reason}]
    facts = [
        "I'm 34",
        "no nuts",
        "not vegan",
        "No nuts, no milk",
        "Nein, morgen",
        "He is a vet",
        "\u7d20\u98df",
        "good morning my friend",
        "When we get a connection error in prod we restart nginx.",
        "The request timeout is 30 seconds",
        "Uploads without a key are rejected",
        "We fixed it today.\nKeyError: 'x' came from the old cache.",
        "Our term for it is error: nobody minds the word.",
        "I kept getting a connection timeout on the VPN, so now I use WireGuard.",
    ]
    assert [talk(quoting, text)["skipped"] for text in facts] == [[]] * len(facts)
    listed = [one["text"] for one in quoting.get("/v1/memories", kind="turn", limit=50)["memories"]]
    assert sorted(listed) == sorted(facts)
    assert not {"k", "hi", "ok", "hm"} & {node["label"] for node in quoting.get("/api/l4")["nodes"]}


@pytest.mark.covers("S0.1", "S0.2")
def test_the_gate_knows_what_says_nothing_in_six_languages(quoting: Door) -> None:
    """Function words of one language alone, and reports of programs, in whatever order their words
    stand; not what somebody tells of a failure, or a sentence that begins like a report.
    """
    nothing = dict.fromkeys(
        ("und dann?", "et alors", "y entonces", "那么呢", "それで", "der die das", "que de la"),
        "stop_words",
    )
    reports = dict.fromkeys(
        (
            "Verbindung abgelehnt: Zeitüberschreitung der Anfrage",
            "Erreur : délai d'attente dépassé",
            "Error de conexión: tiempo de espera agotado",
            "连接错误：请求超时",
            "接続エラー: タイムアウトしました",
            "Sorry, I could not reach the language model.",
            "LLM call failed after 3 retries",
            "I'm sorry, but an error occurred while processing your request.",
            "npm ERR! network timeout at: https://registry.npmjs.org/x",
            "bash: foo: command not found",
        ),
        "noise",
    )
    for text, reason in {**nothing, **reports}.items():
        assert talk(quoting, text)["skipped"] == [{"text": text, "reason": reason}]
    for text in (
        "The retry limit of our pump is three attempts.",
        "Der Dienst fällt am Sonntag aus, weil Kirchweih ist.",
        "Exception: on Mondays the bakery opens at ten.",
        "Le serveur de la cantine s'appelle Hugo.",
        "私は肉が苦手",
    ):
        assert talk(quoting, text)["skipped"] == []


@pytest.mark.covers("S0.3")
def test_a_repetition_is_skipped_and_counts_for_the_one_that_is_there(quoting: Door) -> None:
    """Its text and reason are in the answer of the chat; nothing enters."""
    said = "The mobile app is written in Flutter and Dart."
    assert talk(quoting, said)["skipped"] == []
    for place in range(2):
        talk(quoting, f"The parcel of shelf {place} went to the customer in Lund.")
    (known,) = [
        one
        for one in quoting.get("/v1/memories", kind="turn", limit=50)["memories"]
        if one["text"] == said
    ]
    assert known["tier"] == "recent"
    assert talk(quoting, said)["skipped"] == [{"text": said, "reason": "repeats a recent memory"}]
    assert quoting.get(f"/v1/memories/{known['id']}")["access_count"] > known["access_count"]
    assert (
        len(
            [
                one
                for one in quoting.get("/v1/memories", kind="turn", limit=50)["memories"]
                if one["text"] == said
            ]
        )
        == 1
    )


@pytest.mark.covers("S0.3", "S0.5")
def test_what_repeats_a_seeded_fact_is_skipped(quoting: Door) -> None:
    """A fact that was given is a recent memory like a message."""
    fact = "The night porter of the north gate is Ada Brandt."
    quoting.post(f"/api/seed/{AGENT}", {"facts": [fact]})
    said = "the night porter of the north gate is Ada Brandt"
    assert talk(quoting, said)["skipped"] == [{"text": said, "reason": "repeats a recent memory"}]
    assert talk(quoting, said.replace("Ada", "Ida"))["skipped"] == []


@pytest.mark.covers("S0.44")
def test_a_statement_of_the_asked_kind_needs_the_floor_too(quoting: Door) -> None:
    """Where somebody lives is no answer to where the asker lives, and what is below the floor is in
    no reply, whatever was asked for.
    """
    talk(quoting, "Ines lives in Lund.")
    talk(quoting, "I moved to Berlin in May.")
    eventually(lambda: len(quoting.get("/v1/memories", text="Ines")["memories"]) == 2)
    eventually(lambda: len(quoting.get("/v1/memories", text="Berlin")["memories"]) == 2)
    for question in ("What is my address?", "Where does my aunt live?", "Where do I live?"):
        trace = quoting.post(f"/api/explain/{AGENT}", {"query": question})
        selected = [row for row in trace["rows"] if row["selected"]]
        assert [row for row in selected if row["sim"] < trace["min_sim"] - 1e-4] == []
    assert "Lund" not in talk(quoting, "What is my address?")["reply"]


@pytest.mark.covers("S0.49", "S0.24")
def test_a_reply_quotes_no_empty_half_of_an_exchange(quoting: Door) -> None:
    """Of a message that nobody answered a reply without a model quotes the message alone."""
    said = "The harbour crane was painted yellow by Ida Holm."
    talk(quoting, said)
    consolidate(quoting)
    assert talk(quoting, "Who painted the harbour crane?")["reply"] == said


def test_what_is_said_without_a_model_is_not_the_agents_word(quoting: Door) -> None:
    """Neither the stock answer nor a quote of others is stored, so neither is found or quoted
    again.
    """
    assert (
        "No language model"
        in talk(quoting, "Which orchestra plays in the opera of Sydney?")["reply"]
    )
    talk(quoting, "The shop of the boatyard is written in Elixir.")
    question = "In which language is the shop of the boatyard written?"
    assert "Elixir" in talk(quoting, question)["reply"]
    every = quoting.get("/v1/memories", limit=100)["memories"]
    assert {one["role"] for one in every if one["kind"] in ("turn", "exchange")} == {"user"}
    assert not [pair for pair in consolidate(quoting) if "orchestra" in pair], (
        "a question that nobody answered is no memory"
    )
    assert (
        "No language model"
        in talk(quoting, "Which orchestra plays in the opera of Sydney?")["reply"]
    )


@pytest.mark.covers("S0.49")
def test_a_reply_without_a_model_says_what_the_trace_selected(quoting: Door) -> None:
    """Also what was said a moment ago, and with a mark where a later message may have ended it; a
    statement is answered by saying that it is stored, and assent quotes nothing.
    """
    told = talk(quoting, "Our orders are kept in PostgreSQL.")
    assert "The message is stored" in told["reply"]
    asked = talk(quoting, "Where are our orders kept?")
    assert selected(asked["trace"]) == ["Our orders are kept in PostgreSQL."]
    assert asked["reply"] == "Our orders are kept in PostgreSQL."
    talk(quoting, "Yes, please leave the yard gate open.")
    assert not selected(talk(quoting, "yes please")["trace"])
    talk(quoting, "Our orders are now kept in MySQL.")
    settle(quoting)
    quotes = talk(quoting, "Where are our orders kept?")["reply"].splitlines()
    assert "Our orders are now kept in MySQL." in quotes
    assert [quote for quote in quotes if "PostgreSQL" in quote and "now kept in MySQL" in quote]


@pytest.mark.covers("S0.8", "S0.9")
def test_an_importance_set_by_hand_counts_when_an_item_is_pushed_out(
    quoting: Door, door: Door
) -> None:
    """Below 0.5 it is archived then, whatever the model had judged before.

    The person has no other memory: recalled ones would push the message out before it is judged.
    """
    for server in (quoting, door):
        server.client.headers["X-Engrams-User"] = "fence painter"
        try:
            said = "The colour of the old fence was a kind of brown."
            talk(server, said)
            (message,) = [
                turn
                for turn in server.get("/v1/memories", kind="turn", limit=50)["memories"]
                if turn["text"] == said
            ]
            settle(server)
            server.patch(f"/v1/memories/{message['id']}", {"importance": 0.1})
            assert server.get(f"/v1/memories/{message['id']}")["tier"] == "working"
            for number in range(2):
                talk(server, f"The lamp of corridor {number} needs a new bulb of forty watts.")
            evicted = server.get(f"/v1/memories/{message['id']}")
            assert (evicted["status"], evicted["importance"]) == ("archived", 0.1)
        finally:
            del server.client.headers["X-Engrams-User"]


@pytest.mark.covers("S0.48", "S0.44")
def test_a_trace_tells_what_is_over_and_the_least_similarity(quoting: Door) -> None:
    """A statement that a later one ends is marked with the words that end it; what holds is not."""
    talk(quoting, "I live in Utrecht near the canal.")
    talk(quoting, "I moved to Ghent last week.")

    def explain() -> dict[str, Any]:
        trace = quoting.post(f"/api/explain/{AGENT}", {"query": "Where do I live?"})
        selected = [row for row in trace["rows"] if row["selected"]]
        towns = ("Utrecht", "Ghent")
        return {town: row for town in towns for row in selected if town in row["text"]} | {
            "least": trace["min_sim"]
        }

    rows = eventually(lambda: (found := explain()) and found["Utrecht"]["ended"] and found)
    assert rows["Utrecht"]["ended"].startswith(("no longer so", "may be outdated"))
    assert rows["Utrecht"]["status"] == "superseded"
    assert (rows["Ghent"]["ended"], rows["Ghent"]["status"]) == ("", "active")
    assert min(rows["Utrecht"]["sim"], rows["Ghent"]["sim"]) >= rows["least"] > 0


@pytest.mark.covers("S0.3")
def test_a_repetition_leaves_the_tier_once_a_slow_embedder_has_seen_it(tmp_path: Path) -> None:
    """A model on a server makes the vectors after the write: a message that repeats a recent one in
    other letters leaves the tier then, and the recent one counts a use. Another number, another
    name, and an answer stay.
    """
    said = "The pottery wheel in the annex squeaks badly on Mondays."
    with ScriptedModel() as model:
        embedder = {
            "embed.provider": "openai",
            "embed.model": "scripted",
            "embed.url": f"{model.url}/v1",
            "embed.cosine_model": "",
        }
        options = [
            part for name, value in embedder.items() for part in ("--set", f"{name}={value}")
        ]
        with served("cache", tmp_path / "home", model, *options, L0_MAXLEN="3") as door:

            def list_turns(of_status: str = "active") -> dict[str, Any]:
                query = {"status": of_status, "kind": "turn", "limit": 50}
                page = door.client.get("/v1/memories", params=query).json()
                return {row["text"]: row for row in page["memories"]}

            def settle_vectors() -> None:
                eventually(lambda: door.get("/v1/jobs")["unembedded"] == 0)
                settle(door)

            talk(door, said)
            for shelf in ("north", "south", "upper"):
                talk(door, f"The jars of the {shelf} shelf went to the potter in Lund.")
                settle_vectors()
            assert list_turns()[said]["tier"] == "recent"
            talk(door, said.upper())
            talk(door, said.replace("Mondays", "Fridays"))
            settle_vectors()
            eventually(lambda: said.upper() in list_turns("archived"))
            turns = list_turns()
            assert said.upper() not in turns
            assert said.replace("Mondays", "Fridays") in turns
            assert turns[said]["access_count"] > 0
