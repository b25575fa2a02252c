"""engrams chat: its commands, and memory under control in words."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engrams import composition
from engrams.core import Kind
from engrams.settings import load
from engrams.testing import ScriptedModel

DENTIST = "The dentist is Dr. Okafor in Mill Lane"


def texts(done: Any) -> list[str]:
    return [record["text"] for record in done.json["records"]]


def chatted(engrams: Any, *lines: str, options: tuple[str, ...] = ()) -> Any:
    finished = engrams("chat", *options, stdin="\n".join(lines) + "\n")
    assert finished.code == 0
    return finished


def scripted(model: ScriptedModel) -> tuple[str, ...]:
    sets = [
        "chat.provider=openai",
        "chat.model=m",
        f"chat.url={model.url}",
        "chat.retries=0",
        "write.extract=off",
        "jobs.workers=0",
    ]
    return tuple(part for text in sets for part in ("--set", text))


@pytest.mark.covers("S4.50")
def test_forgetting_in_words(engrams: Any) -> None:
    """`forget …` asks back, and only a yes on the next turn forgets; none of that talk is kept."""
    engrams("add", DENTIST)
    finished = chatted(engrams, "forget about the dentist", "what time is it?", "yes")
    assert "Shall I forget" in finished.out
    assert DENTIST in texts(engrams("list", "--json"))
    gone = chatted(engrams, "Forget about the dentist, please.", "yes")
    assert "Forgotten: The dentist" in gone.out
    remaining_texts = texts(engrams("list", "--status", "all", "--kind", "turn", "--json"))
    assert not [text for text in remaining_texts if "forget about" in text.lower()]
    assert DENTIST not in texts(engrams("list", "--json"))


def test_facts_by_number(engrams: Any) -> None:
    """/facts numbers what is known;

    /edit corrects one of them, /forget puts one away, /restore brings it back.
    """
    engrams("add", DENTIST, "--set", "write.extract=off")
    shown = chatted(engrams, "/facts dentist", "/edit 1 The dentist is Dr. Obi in Mill Lane")
    assert "Dr. Okafor" in shown.out and "Corrected: The dentist is Dr. Obi" in shown.out
    (record,) = engrams("list", "--kind", "note", "--json").json["records"]
    assert record["text"] == "The dentist is Dr. Obi in Mill Lane"
    finished = chatted(
        engrams,
        "/facts",
        "/forget 1",
        "/facts",
        f"/restore {record['id']}",
        "/edit",
        "/edit 1",
        "/facts nothing like this",
    )
    assert "Forgotten: The dentist" in finished.out and "Restored: The dentist" in finished.out
    assert finished.err.count("/edit needs") == 2


def test_incognito(engrams: Any) -> None:
    """Between /incognito on and off nothing is read and nothing is kept;
    a model is asked without memory.
    """
    engrams("add", DENTIST)
    with ScriptedModel() as model:
        model.say("I do not know.", "It is Dr. Okafor.")
        lines = (
            "/incognito on",
            "my PIN is 4711, who is my dentist?",
            "/incognito off",
            "who is my dentist then?",
            "/incognito maybe",
        )
        finished = chatted(engrams, *lines, options=scripted(model))
        first, second = (json.dumps(request.body) for request in model.requests)
    assert "Okafor" not in first and "Okafor" in second
    assert "needs on or off" in finished.err
    stored_texts = texts(engrams("list", "--status", "all", "--json"))
    assert not [text for text in stored_texts if "4711" in text or "do not know" in text]
    assert "who is my dentist then?" in stored_texts
    without = chatted(engrams, "/incognito", "I like tea.")
    assert "nothing is read or stored" in without.out
    assert "I like tea." not in texts(engrams("list", "--json"))


def test_what_was_recalled_is_shown_beside_the_answer(engrams: Any) -> None:
    """With a model the memories it was given are told on standard error, by the numbers that /why
    and /forget take.
    """
    engrams("add", DENTIST)
    with ScriptedModel() as model:
        model.say("Your dentist is Dr. Okafor.")
        finished = chatted(engrams, "who is my dentist?", "/forget 1", options=scripted(model))
    assert f"1. {DENTIST}" in finished.err
    assert finished.out.splitlines()[0] == "Your dentist is Dr. Okafor."
    assert f"Forgotten: {DENTIST}" in finished.out


@pytest.mark.covers("S4.49")
def test_recall_off_outlasts_the_chat(engrams: Any) -> None:
    """Switched off, by command or in words, nothing known is used, in the next chat too, until it
    is switched on; what is said is kept.
    """
    engrams("add", DENTIST)
    off = chatted(engrams, "turn off your memory", "who is the dentist?", "My cat is called Tom.")
    assert "Recall is off" in off.out and "Okafor" not in off.out
    assert "My cat is called Tom." in texts(engrams("list", "--kind", "turn", "--json"))
    again = chatted(
        engrams, "who is the dentist?", "memory status", "/recall on", "who is the dentist?"
    )
    head, _, tail = again.out.partition("Recall is on.")
    assert "Recall is off." in head and "Okafor" not in head and "Okafor" in tail
    with ScriptedModel() as model:
        model.say("I do not know.")
        chatted(engrams, "/recall off", "who is my dentist?", options=scripted(model))
        assert "Okafor" not in json.dumps(model.requests[-1].body)


def test_wrong_commands(engrams: Any) -> None:
    """A command that is none, or misses something, is told and ends nothing."""
    finished = chatted(
        engrams,
        "/recall perhaps",
        "/restore nothing-like-it",
        "/forget 3",
        "/why",
        "/quit",
        "never read",
    )
    assert finished.err.count("error:") == 3
    assert "There was no question yet" in finished.out
    assert texts(engrams("list", "--json")) == []


LATE = """
import signal, threading, time
def signal_beside_main():
    while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        time.sleep(0.05)
    time.sleep(0.5)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
threading.Thread(target=signal_beside_main, daemon=True).start()
from engrams.program.entry import run
run()
"""


def _hear_hangups() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a suite under nohup hears none


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_conversation_as_control_c_does(
    home: Path, number: signal.Signals
) -> None:
    """A chat that is told to stop, or whose terminal closes, ends its session:
    nothing of it waits for the next start.
    """
    command = [
        sys.executable,
        "-m",
        "engrams.program.entry",
        "chat",
        "--home",
        str(home),
        "--user",
        "ann",
    ]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_hear_hangups,  # noqa: PLW1509 - nothing else runs yet
    ) as process:
        assert (
            process.stdin is not None and process.stdout is not None and process.stderr is not None
        )
        process.stdin.write(DENTIST + ".\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(number)
        assert process.wait(30) == 128 + number
        assert process.stderr.read() == ""
    with composition.open(load({"home": str(home)}).settings, background=False) as engine:
        (turn,) = engine.list(scope=("user", "ann"), kinds=(Kind.TURN,)).records
        assert engine.sessions.state(turn.session, scope=("user", "ann")) == "rotation_required"


def test_a_signal_that_interrupts_no_read_ends_it_too(home: Path) -> None:
    """A signal that reaches the process just before it waits for a line is not left until the next
    line.
    """
    command = [sys.executable, "-c", LATE, "chat", "--home", str(home), "--user", "ann"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.wait(30) == 128 + signal.SIGTERM


def test_a_correction_is_quoted_as_what_was_meant(engrams: Any) -> None:
    """Without a model a corrected day is the first quote; what nothing was learned of is not listed."""
    finished = chatted(
        engrams,
        "My daughter Emma is allergic to peanuts.",
        "Emma's school play is on Monday at 5.",
        "no, I meant Tuesday",
        "When is Emma's school play?",
        "who told you that Emma is allergic?",
    )
    noted, _, _, first_quote, *_, source = finished.out.splitlines()
    assert noted == "Noted: “My daughter Emma is allergic to peanuts”"
    assert first_quote.endswith("Emma's school play is on Tuesday at 5")
    assert "My daughter Emma is allergic to peanuts." in source


def test_a_receipt_is_in_the_language_of_the_message(engrams: Any) -> None:
    """That of a statement, a correction and a wish not to be saved."""
    finished = chatted(
        engrams,
        "Ich wohne in Kassel.",
        "Nein, nicht Kassel, sondern Fulda.",
        "Mi cita es el viernes.",
        "J'habite à Lyon.",
        "私は京都に住んでいます。",
        "N'enregistre pas ça : mon code est 4711.",
    )
    assert finished.out.splitlines() == [
        "Notiert: „Ich wohne in Kassel“",
        "Notiert: „Ich wohne in Fulda“",
        "Anotado: «Mi cita es el viernes»",
        "Noté : « J'habite à Lyon »",
        "記録しました：「私は京都に住んでいます」",
        "Non enregistré.",
    ]


def test_whoever_is_named_is_quoted(engrams: Any) -> None:
    """A question about somebody brings what was told of them; one about nobody brings nothing."""
    finished = chatted(
        engrams,
        "My son Tim is seven.",
        "My sister Ida is a nurse.",
        "My daughter Emma is twelve.",
        "Our dog is called Rex.",
        "How old is Tim?",
        "What is the capital of France?",
    )
    *_, tim, france = finished.out.splitlines()
    assert tim.endswith("My son Tim is seven.")
    assert france == "I remember nothing about that."


def test_a_secret_that_is_not_kept_is_not_claimed(engrams: Any) -> None:
    """A password is left out of memory, and the answer says so."""
    finished = chatted(engrams, "Remember that the wifi password is hunter22")
    assert "without the secret" in finished.out
    assert "hunter22" not in str(texts(engrams("list", "--json")))


def test_a_small_memory_says_that_it_knows_nothing(engrams: Any) -> None:
    """With four sentences in memory a question about something else is not answered by one of them."""
    finished = chatted(
        engrams,
        "I live in Lisbon.",
        "My daughter Emma is allergic to peanuts.",
        "I work as a nurse.",
        "Our dog is called Rex.",
        "When is the dentist?",
        "Wo wohne ich?",
    )
    *_, dentist, home = finished.out.splitlines()
    assert dentist == "I remember nothing about that."
    assert home.endswith("I live in Lisbon.")
