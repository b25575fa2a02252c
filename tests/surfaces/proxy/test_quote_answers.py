"""Chat without an upstream."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import openai
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import patient

from engrams.core import Kind
from engrams.engine import MemoryEngine
from engrams.testing import temp_engine


@pytest.fixture(scope="module")
def engine() -> Iterator[MemoryEngine]:
    with temp_engine(user="ann") as found:
        yield found


@pytest.fixture(scope="module")
def url(engine: MemoryEngine) -> Iterator[str]:
    with running(patient(engine)) as found:
        yield found


@pytest.fixture
def client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=url + "/v1", api_key="engrams", max_retries=0) as found:
        yield found


def test_the_model_says_what_it_is(client: openai.OpenAI) -> None:
    """A model whose name says offline is listed, and memory's embedder; no other is found."""
    assert [model.id for model in client.models.list()] == ["engrams-offline", "builtin-256-1"]
    assert client.models.retrieve("engrams-offline").owned_by == "engrams"
    with pytest.raises(openai.NotFoundError, match=r"serve\.upstream"):
        client.models.retrieve("gpt")


def test_it_quotes_with_dates_and_says_that_it_is_no_model(
    client: openai.OpenAI, engine: MemoryEngine
) -> None:
    """An answer is a labelled list of dated quotes and how to get a model; it is not kept."""
    client.chat.completions.create(
        model="any", messages=[{"role": "user", "content": "My dog is called Rex."}], user="quoter"
    )
    answer = client.chat.completions.create(
        model="any", messages=[{"role": "user", "content": "What is my dog called?"}], user="quoter"
    )
    text = answer.choices[0].message.content or ""
    assert text.startswith("[engrams, offline] No language model")
    assert "“My dog is called Rex.”" in text
    assert f"- {engine.now():%Y-%m-%d}, you:" in text
    assert "engrams init" in text
    turns = engine.list(
        scope=("user", "quoter"), kinds=(Kind.TURN,), statuses=(), order="oldest"
    ).records
    assert [(turn.text, turn.status) for turn in turns] == [
        ("My dog is called Rex.", "active"),
        ("What is my dog called?", "archived"),
    ]


@pytest.mark.covers("S4.49")
def test_it_quotes_nothing_where_recall_is_off(client: openai.OpenAI, engine: MemoryEngine) -> None:
    """It says that recall is off, in the language of the question; messages are still stored."""
    engine.sessions.recall(("user", "off"), False)

    def ask(text: str) -> str:
        messages = [{"role": "user", "content": text}]
        answer = client.chat.completions.create(model="m", messages=messages, user="off")  # type: ignore[arg-type]
        return answer.choices[0].message.content or ""

    assert "My dog is called Rex" in ask("My dog is called Rex.")
    assert "Recall is off" in ask("What is my dog called?")
    german = ask("Wie heißt mein Hund?")
    assert "Rex" not in german
    assert "aus" in german
    ask("Turn recall on")
    assert "“My dog is called Rex.”" in ask("What is my dog called?")


def test_it_does_not_quote_itself(client: openai.OpenAI) -> None:
    """Neither an earlier offline answer nor the question itself comes back as a memory."""
    messages = [{"role": "user", "content": "Where does my sister live?"}]
    said = [
        client.chat.completions.create(model="m", messages=messages, user="echo")
        .choices[0]
        .message.content
        for _ in range(2)
    ]  # type: ignore[call-overload]
    assert said[0] == said[1]
    assert "nothing in memory matches" in said[0]


def test_it_streams(client: openai.OpenAI) -> None:
    """A stream has the same text, a finish reason, usage where it is asked for, and an end."""
    client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "My cat is called Tom."}], user="streamer"
    )
    stream = client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "What is my cat called?"}],
        stream=True,
        stream_options={"include_usage": True},
        user="streamer",
    )
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert "“My cat is called Tom.”" in text
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None


def test_silence_is_kept(client: openai.OpenAI, engine: MemoryEngine) -> None:
    """Incognito reads nothing, stores nothing, and says so."""
    body = {"memory": {"incognito": True}}
    answer = client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "My PIN is odd."}],
        user="ghost",
        extra_body=body,
    )
    assert "leaves memory out" in (answer.choices[0].message.content or "")
    assert engine.list(scope=("user", "ghost")).records == ()


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]", b'{"messages": 1}'])
def test_a_malformed_request_is_a_400(url: str, body: bytes) -> None:
    """There is no upstream to judge it, so it is refused here with what to send."""
    answer = httpx2.post(url + "/v1/chat/completions", content=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")


def test_other_paths_say_what_is_missing(url: str) -> None:
    """Any other path is a 404 that names the way to an upstream."""
    for method, path in [
        ("POST", "/v1/completions"),
        ("POST", "/v1/messages/count_tokens"),
        ("DELETE", "/x"),
    ]:
        answer = httpx2.request(method, url + path)
        assert answer.status_code == 404
        assert "serve.upstream" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("statement", "question", "noted", "label"),
    [
        ("Ich wohne in Köln.", "Wo wohne ich?", "Notiert", "Kein Sprachmodell"),
        ("Ich wohne in Kassel.", "Wo wohne ich?", "Notiert", "Kein Sprachmodell"),
        ("Vivo en Madrid.", "¿Dónde vivo?", "Anotado", "No hay ningún modelo"),
        ("J'habite à Lyon.", "Où est-ce que j'habite ?", "Noté", "Aucun modèle de langage"),
    ],
)
def test_it_answers_in_the_language_of_the_message(
    client: openai.OpenAI, statement: str, question: str, noted: str, label: str
) -> None:
    """What is noted and what is quoted is told in the language in which somebody writes."""

    def say(text: str) -> str:
        said = [{"role": "user", "content": text}]
        answer = client.chat.completions.create(model="any", messages=said, user=noted)  # type: ignore[arg-type]
        return answer.choices[0].message.content or ""

    assert say(statement).startswith(
        (f"[engrams, offline] {noted}", "[engrams, offline] D", "[engrams, offline] T")
    )
    told = say(question)
    assert told.startswith(f"[engrams, offline] {label}")
    assert statement.rstrip(".") in told and "No language model" not in told


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("Remember that the wifi password is hunter22", "without the secret"),
        ("Das WLAN-Passwort lautet hunter22", "ohne das Geheimnis"),
    ],
)
def test_a_secret_that_is_not_kept_is_not_claimed(
    client: openai.OpenAI, text: str, reply: str
) -> None:
    """The answer says that the password was left out of memory, in the language of the message."""
    answer = client.chat.completions.create(
        model="any", messages=[{"role": "user", "content": text}], user="careful"
    )
    assert reply in (answer.choices[0].message.content or "")


def test_whoever_is_named_is_quoted(client: openai.OpenAI) -> None:
    """A question about a person brings what was told of them, in a small memory, too."""
    told = ("My son Tim is seven.", "My sister Ida is a nurse.", "Our dog is called Rex.")
    for text in (*told, "I live in Graz.", "How old is Tim?"):
        answer = client.chat.completions.create(
            model="any", messages=[{"role": "user", "content": text}], user="parent"
        )
    text = answer.choices[0].message.content or ""
    assert "My son Tim is seven." in text
    assert "Ida" not in text
