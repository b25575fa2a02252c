"""The gate: what nothing is to be learned from, and why."""

from __future__ import annotations

import pytest

from engrams.extract.echo_removal import fingerprint, remove_echoes
from engrams.extract.gate import gate_text
from engrams.extract.machine_reports import is_noise
from engrams.extract.memory_requests import is_control
from engrams.text.small_talk import is_small_talk


@pytest.mark.covers("S0.1")
@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "stop_words"), ("the of and", "stop_words"), ("I am", "stop_words"), ("Berlin", "short")],
)
def test_too_little_is_skipped_with_its_reason(text: str, reason: str) -> None:
    """A text of stop words only, or of too few words with content, is skipped and the decision says
    which.
    """
    decision = gate_text(text)
    assert decision is not None
    assert (decision.stage, decision.verdict, decision.reason) == ("gate", "skip", reason)


@pytest.mark.parametrize(
    "text",
    [
        "I'm vegan",
        "I'm Sam",
        "I moved to Berlin",
        "我住在柏林",
        "Vivo en Madrid",
        "ich bin müde vom Umzug",
        "[No error] I moved to Bonn",
        "Panic: my passport expires on 3 June",
        "Critical: no penicillin for Jonas",
        "Error: my blood type is B",
        "Fatal - the wedding of Nora was cancelled",
        "[warning] my neighbour Ahmed has a big dog",
        "Segmentation fault is the name of my band",
        "Fatal: mi abuelo murió el lunes",
        "Redis timeout is 30 seconds",
        "The request timeout is 30 seconds",
        "Idle timeout: 15 min",
        "Failed login attempts: max 5",
        "Requests without a token are refused",
        "The proxy has no timeout",
        "Build b1201 failed.",
        "No response from Anna yet",
        "Broken pipe in the cellar, plumber comes Tuesday",
        "Der Kellner antwortet nicht",
        "服务器在法兰克福",
    ],
)
def test_short_statements_pass(text: str) -> None:
    """A short sentence with a subject is a statement, not a fragment, however it opens."""
    assert gate_text(text) is None


@pytest.mark.covers("S0.2")
@pytest.mark.parametrize(
    "text",
    [
        "Connection error.",
        "Error: connect ECONNREFUSED 127.0.0.1:11434",
        'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nKeyError: 1',
        "Request timed out after 60 seconds",
        "503 Service Unavailable",
        "Internal Server Error",
        "rate limit exceeded, try again later",
        "HTTP 502 from upstream",
        "Sorry, I ran into a connection error.",
        "java.lang.Error\n    at my.shop.Cart(Cart.java:17)",
        "Error: connect ECONNREFUSED, our server is down",
        "fatal: Could not read from remote repository.",
        "Critical: no space left on device",
        "Segmentation fault (core dumped)",
        "KeyError: 'user_id'",
        "2024-05-01 12:00:01 ERROR [main] c.s.OrderService - Order 1234 could not be processed",
        "May 01 10:00:00 web1 systemd[1]: nginx.service: Failed with result 'exit-code'.",
        "nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)",
        "npm error code ENOENT",
        "socket hang up",
        "No response from server",
        "Empty reply from server",
        "[FATAL] Non-resolvable parent POM for com.acme:app:1.0",
        "ORA-01017: invalid username/password; logon denied",
        "Back-off restarting failed container",
        "rm: cannot remove 'x': Permission denied",
        "Too many open files",
        "context length exceeded",
        "java.io.IOException",
        "Der Server antwortet nicht.",
        "Sin respuesta del servidor",
        "Aucune réponse du serveur",
        "服务器没有响应",
        "サーバーから応答がありません",
    ],
)
def test_infrastructure_noise_is_skipped_with_its_own_reason(text: str) -> None:
    """Errors, time-outs and traces are noise."""
    decision = gate_text(text)
    assert decision is not None
    assert decision.reason == "noise"


@pytest.mark.parametrize(
    "text",
    [
        "I had a connection with my grandmother",
        "We missed the train because of an error in the plan",
        "My timeout chair is blue",
    ],
)
def test_talk_about_connections_and_errors_is_no_noise(text: str) -> None:
    """The words alone do not make noise."""
    assert not is_noise(text)


@pytest.mark.covers("S4.12")
@pytest.mark.parametrize(
    "text",
    [
        "hi",
        "Hello there!",
        "thanks a lot",
        "ok cool",
        "lol",
        "good morning",
        "👍",
        "how are you?",
        "bye!",
        "danke!",
        "谢谢你",
        "haha nice",
        "merci beaucoup",
        "un grand merci",
        "c'est bon",
        "a bientot",
        "de nada",
        "tausend Dank",
        "ok, merci beaucoup !",
        "了解です",
        "お疲れ様でした",
        "早上好",
    ],
)
def test_small_talk_is_recognised(text: str) -> None:
    """At most forty characters of nothing but greetings, thanks and assent are small talk."""
    assert is_small_talk(text) or gate_text(text) is not None


@pytest.mark.covers("S4.12")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "ok, I moved to Berlin",
        "thanks, my name is Bo",
        "hello hello hello hello hello hello hello hi",
        "good dog named Max",
        "merci beaucoup, j'habite à Lyon",
        "はいいろの猫が好き",
        "ありがとう、猫を飼っています",
        "太好了我搬家了",
    ],
)
def test_what_is_more_than_small_talk_passes_on(text: str) -> None:
    """Empty text, longer text and text with a word of content is not small talk."""
    assert not is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "forget that",
        "Please forget everything I told you",
        "what do you remember about me?",
        "don't save this",
        "Do not remember that please",
        "delete my memories",
        "vergiss das",
        "olvida eso",
        "oublie ça",
        "不要记住这个",
        "never log what I say",
        "please don't keep our chat",
        "dont store anything",
        "do not record this",
        "don't memorize my words",
        "wipe everything you know",
        "what do you know",
        "what can you recall",
        "what have you learned",
        "what did you have stored",
        "tell me what you know",
        "turn off recall",
        "off the record",
        "lösche alles",
        "merk dir das nicht",
        "was weißt du über mich",
        "no guardes esto",
        "no recuerdes eso",
        "que sabes de mi",
        "ne retiens pas",
        "ne mémorise pas",
        "ne garde pas",
        "que sais-tu de moi",
        "忘记刚才",
        "别保存",
        "你记得什么",
        "不要忘 忘掉我",
        "Forget it, please",
        "Forget everything about my health, I have asthma",
        "Forget that I live in Oslo, I was joking",
        "Forget what I said about Bob, he is my boss",
        "Vergiss meine Adresse, bitte",
        "Vergiss bitte, dass ich einen roten Skoda fahre.",
    ],
)
def test_requests_about_memory_are_control(text: str) -> None:
    """A request about memory itself teaches nothing about the person."""
    assert is_control(text)
    decision = gate_text(text)
    assert decision is not None
    assert decision.reason == "control"


@pytest.mark.parametrize(
    "text",
    [
        "I never forget my keys",
        "Don't forget to buy milk",
        "I remember my first day at school",
        "My memory is getting worse",
        "I saved this seat for you",
        "Remember that I am allergic to nuts",
        "Forget it, I moved back to Malmö",
        "Never mind, forget this. My new dentist is Dr. Okafor.",
        "Forget the gym, I swim in the lake near Zug.",
        "Don't store it in the fridge, my tomatoes lose their taste",
        "I was told to clear the memory of my old phone",
        "Vergiss es, mein Bruder Jan hat schon bezahlt.",
        "Olvida el café, yo tomo té verde.",
        "Oublie ça. Mon frère habite à Nantes.",
        "忘了吧，我现在住在厦门。",
        "忘れて、うちの犬はもう元気です。",
    ],
)
def test_ordinary_talk_about_memory_is_no_control(text: str) -> None:
    """Speaking of remembering is not a request about what is stored."""
    assert not is_control(text)


def test_what_was_injected_is_not_learned_again() -> None:
    """A text whose fingerprint was injected before is an echo, whatever its case and punctuation;
    another text is not.
    """
    echoes = {fingerprint("Alice lives in Berlin since May 2023.")}
    assert remove_echoes("alice lives in berlin, since may 2023", echoes) == ""
    other = "Alice lives in Rome since May 2023"
    assert remove_echoes(other, echoes) == other


@pytest.mark.parametrize(
    "text", ["\0\0\0", "\ud800", "a" * 100_000, "\u202e reversed text", "🦄" * 500, "\n" * 1000]
)
def test_any_text_is_judged(text: str) -> None:
    """Hostile text gets an answer and no exception."""
    gate_text(text)
