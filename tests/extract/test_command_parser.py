"""What is asked of memory in words, and what is not."""

from __future__ import annotations

import pytest

from engrams.extract.command_parser import (
    ParsedMemoryCommand,
    asks_to_forget,
    parse_command,
    parse_decision,
    parse_number,
)


@pytest.mark.covers("S4.50")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("What do you remember about me?", ParsedMemoryCommand("list")),
        ("what do you know about me", ParsedMemoryCommand("list")),
        ("Please show me what you know about me.", ParsedMemoryCommand("list")),
        ("list my memories", ParsedMemoryCommand("list")),
        ("What have you stored about the boat?", ParsedMemoryCommand("list", "the boat")),
        ("What do you remember about my dog, please?", ParsedMemoryCommand("list", "my dog")),
        ("what\u2019s in your memory", ParsedMemoryCommand("list")),
        ("memory status", ParsedMemoryCommand("status")),
        ("How many things do you remember about me?", ParsedMemoryCommand("status")),
        ("Is recall on?", ParsedMemoryCommand("status")),
        ("Turn off your memory", ParsedMemoryCommand("recall_off")),
        ("please switch memory off", ParsedMemoryCommand("recall_off")),
        ("stop using your memory", ParsedMemoryCommand("recall_off")),
        ("turn recall back on", ParsedMemoryCommand("recall_on")),
        ("Switch on memory!", ParsedMemoryCommand("recall_on")),
        (
            "Save this as a preference: tea without sugar",
            ParsedMemoryCommand("save", "tea without sugar"),
        ),
        (
            "remember my preference that I hate mornings.",
            ParsedMemoryCommand("save", "I hate mornings"),
        ),
        ("forget that", ParsedMemoryCommand("forget_last")),
        ("Please forget what I just said.", ParsedMemoryCommand("forget_last")),
        ("Forget everything about me", ParsedMemoryCommand("forget_all")),
        ("delete all my memories", ParsedMemoryCommand("forget_all")),
        ("forget number 3", ParsedMemoryCommand("forget", number=3)),
        ("delete #2", ParsedMemoryCommand("forget", number=2)),
        ("forget the second one", ParsedMemoryCommand("forget", number=2)),
        ("Forget that I like tea.", ParsedMemoryCommand("forget", "I like tea")),
        ("could you forget what I told you about Berlin?", ParsedMemoryCommand("forget", "Berlin")),
        ("Delete the memory about my old address", ParsedMemoryCommand("forget", "my old address")),
        (
            "forget everything about the boat",
            ParsedMemoryCommand("forget", "the boat", is_for_all=True),
        ),
    ],
)
def test_requests_about_memory(text: str, wanted: ParsedMemoryCommand) -> None:
    """Each is understood, however politely."""
    assert parse_command(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "What do you know about Python?",
        "My dog is called Rex.",
        "I always forget my keys.",
        "Don't forget that I like tea.",
        "never forget the milk",
        "Forget to feed him and he barks.",
        "forget about it",
        "delete the temporary files",
        "remove the first line of the file",
        "Turn off the lights",
        "What do you remember?" + " really" * 200,
        "Remember that I like tea",
        "forgetting is human",
        "\ud800\0",
    ],
)
def test_everything_else(text: str) -> None:
    """Conversation about the world, work for a tool and things to keep are no requests about
    memory.
    """
    assert parse_command(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2", 2),
        ("number 3", 3),
        ("the second one", 2),
        ("#4.", 4),
        ("tenth", 10),
        ("0", 0),
        ("two", 0),
        ("12345", 0),
    ],
)
def test_numbers(text: str, number: int) -> None:
    """A digit or an ordinal names one of a list."""
    assert parse_number(text) == number


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yes", "yes"),
        ("Yes, please do it.", "yes"),
        ("go ahead!", "yes"),
        ("no", "no"),
        ("No, keep it.", "no"),
        ("never mind", "no"),
        ("cancel please", "no"),
        ("all of them", "all"),
        ("yes but tell me about cats first", ""),
        ("What time is it?", ""),
        ("", ""),
    ],
)
def test_decisions(text: str, said: str) -> None:
    """Only a plain answer counts as one."""
    assert parse_decision(text) == said


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Please forget that I am allergic to cashews.", True),
        ("Hey, can you forget my address, please?", True),
        ("Forget what I told you about Bob. I like tea.", False),
        ("Forget Paris, Rome is where I live now", False),
        ("Don't forget my keys", False),
        ("What do you remember about me?", False),
    ],
)
def test_a_request_to_forget_says_nothing_else(text: str, asked: bool) -> None:
    """Only a sentence that asks to forget and says no more is such a request."""
    assert asks_to_forget(text) is asked


ASKED = {
    "en": (
        "could you pls forget that", "can u forget that", "plz forget that", "forgett that", "foget that", "forget taht",
        "forget that pls", "ok forget that thx", "you can forget that", "hey can you please just forget that",
        "would you mind forgetting that?", "kindly forget that", "pls forgot that", "can you remove that from your memory please",
    ),
    "de": ("kannst du das bitte vergessen", "koenntest du das vergessen", "vergis das bitte", "vergiß das"),
    "es": ("olvida eso porfa", "puedes olvidar eso por favor"),
    "fr": ("pouvez-vous oublier cela ?", "oublie ça stp"),
    "zh": ("你能忘记这个吗", "麻烦忘记这件事"),
    "ja": ("忘れてください", "それを忘れてもらえますか"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "text"), [(code, text) for code, texts in ASKED.items() for text in texts]
)
def test_polite_and_misspelled_requests_to_forget(language: str, text: str) -> None:
    """A request to forget the last thing is understood however politely or badly it is written."""
    command = parse_command(text)
    assert command is not None
    assert (command.verb, command.about, command.language) == ("forget_last", "", language)


@pytest.mark.parametrize(
    "text",
    [
        "Forgot that I had a meeting today.",
        "I forgot that again.",
        "You should forget about it, it was a bad film.",
        "Das vergessen viele Leute.",
        "Would you mind closing the window?",
        "I keep forgetting that.",
    ],
)
def test_talk_of_forgetting_is_no_request(text: str) -> None:
    """A sentence about forgetting asks nothing of memory."""
    assert parse_command(text) is None


@pytest.mark.covers("S4.50")
@pytest.mark.parametrize(
    ("text", "verb", "about"),
    [
        ("Olvídalo", "forget_last", ""),
        ("Borra lo que te dije de Ramón", "forget", "Ramón"),
        ("Elimina mi último mensaje", "forget_last", ""),
        ("Olvida que vivo en Vigo", "forget", "vivo en Vigo"),
        ("Efface ce que je t'ai dit sur Luc", "forget", "Luc"),
        ("Efface mon dernier message", "forget_last", ""),
        ("Oublie que j'habite à Tours", "forget", "j'habite à Tours"),
        ("Lösch, was ich dir über Anna erzählt habe", "forget", "Anna"),
        ("Vergiss, was ich über Anna gesagt habe", "forget", "Anna"),
        ("Lösche meine letzte Nachricht", "forget_last", ""),
        ("Merk dir das nicht", "forget_last", ""),
        ("忘记我住在成都", "forget", "我住在成都"),
        ("删除上一条消息", "forget_last", ""),
        ("全部忘掉", "forget_all", ""),
        ("それを消して", "forget_last", ""),
        ("全部忘れて", "forget_all", ""),
        ("太郎の記憶を削除して", "forget", "太郎"),
        ("Tell me everything you have on my car", "list", "my car"),
    ],
)
def test_requests_keep_their_subject_and_their_certainty(text: str, verb: str, about: str) -> None:
    """What is plainly meant for memory is certain, and the subject is whole and alone."""
    command = parse_command(text)
    assert command is not None
    assert (command.verb, command.about) == (verb, about)
    assert command.is_certain


@pytest.mark.parametrize(
    ("text", "verb", "about"),
    [
        ("wat do u know abt Freya", "list", "Freya"),
        ("what have u got on me", "list", ""),
        ("What did I tell you about the cellar?", "list", "the cellar"),
        ("have we ever talked about the roof?", "list", "the roof"),
        ("did I mention my passport", "list", "my passport"),
        ("when did I tell you about the flood?", "source", "the flood"),
        ("who told u the flat is damp", "source", "the flat is damp"),
        ("Was hab ich dir denn vom Umzug erzählt", "list", "Umzug"),
        ("Habe ich schon mal was über Jette gesagt?", "list", "Jette"),
        ("wann habe ich dir gesagt, dass Jette schwimmt?", "source", "Jette schwimmt"),
        ("Wie lange spiele ich schon Geige?", "since", "spiele ich schon Geige"),
        ("q sabes de Lola", "list", "Lola"),
        ("¿Te he contado algo sobre el tejado?", "list", "el tejado"),
        ("cuándo te dije que Lola canta", "source", "Lola canta"),
        ("¿Cuánto hace que vivo en Soria?", "since", "vivo en Soria"),
        ("Je t'ai déjà parlé du grenier ?", "list", "grenier"),
        ("quand est-ce que je t'ai dit que Manon chante ?", "source", "Manon chante"),
        ("Ça fait combien de temps que j'habite à Metz ?", "since", "j'habite à Metz"),
        ("我有没有跟你说过阳台的事", "list", "阳台"),
        ("我什么时候开始学吉他的", "since", "学吉他"),
        ("ベランダの話をしたことある？", "list", "ベランダ"),
        ("引っ越しの話、いつしたっけ", "source", "引っ越し"),
        ("So how much have you learned about me?", "list", ""),
        ("How much do you remember?", "status", ""),
        ("How many things do you know about me?", "status", ""),
        ("Wie viel hast du dir über mich gemerkt?", "list", ""),
        ("wieviel weisst du von Jette", "list", "Jette"),
        ("¿Cuánto recuerdas de mí?", "list", ""),
        ("Combien en sais-tu sur moi ?", "list", ""),
        ("你对我了解多少", "list", ""),
        ("私のことどれだけ知ってる", "list", ""),
        ("どれくらい覚えてる", "status", ""),
    ],
)
def test_questions_for_what_was_said(text: str, verb: str, about: str) -> None:
    """What was said of something, and when, is asked in six languages, also as in a chat."""
    command = parse_command(text, with_questions=True)
    assert command is not None, text
    assert (command.verb, command.about) == (verb, about)


@pytest.mark.parametrize(
    "text",
    [
        "Wie lange dauert der Flug nach Oslo?",
        "¿Cuánto tiempo tarda el tren?",
        "Combien de temps faut-il pour cuire un œuf ?",
        "我什么时候去看牙医",
        "駅までどれくらいかかる？",
        "ベランダの話をした。",
        "我跟你说过阳台漏水",
        "I told you about the roof.",
        "Ich hab dir vom Umzug erzählt.",
        "Te he contado que vivo en Soria.",
    ],
)
def test_statements_and_other_questions_ask_nothing_of_memory(text: str) -> None:
    """A duration that nobody told, an appointment and a statement are no requests about memory."""
    assert parse_command(text, with_questions=True) is None
