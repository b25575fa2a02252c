"""What memory said itself is not learned again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.session.conversation import ALICE, Conversation

import engrams
from engrams import Turn
from engrams.core import Kind
from engrams.core.process_peers import ProcessPeers
from engrams.errors import RefusedError
from engrams.extract.echo_removal import find_echoes, fingerprint_pieces, remove_echoes
from engrams.write.prompt_fingerprints import InjectedContextFingerprints


@pytest.fixture
def talk() -> Iterator[Conversation]:
    made = Conversation(write__roles=("user", "assistant"))
    yield made
    made.close()


def test_pieces_are_told_apart() -> None:
    """Lines and sentences that are echoes go, in whatever case and blanks;
    the rest stays as it was; short ones are nobody's.
    """
    known = fingerprint_pieces("The user lives in Berlin now.")
    assert (
        remove_echoes("I agree. The  USER lives in berlin now! My cat is Tom.", known)
        == "I agree. My cat is Tom."
    )
    assert remove_echoes("The user lives in Berlin now", known) == ""
    assert fingerprint_pieces("yes, exactly so") == frozenset()
    assert find_echoes("a long text " * 10_000, known) == ()


def test_what_a_prompt_was_given_is_not_learned_from_it(talk: Conversation) -> None:
    """A turn that brings a delivered context along teaches what stands beside it alone, and is
    stored without the context.
    """
    talk.say("I live in Paris and work at Acme.")
    before = talk.facts()
    given = talk.engine.deliver("Where do I live?", scope=ALICE, session="s")
    assert given.text
    talk.say(f"{given.text}\n\nMy sister is called Ann.")
    assert [fact for fact in talk.facts() if fact not in before] and all(
        "Ann" in fact for fact in talk.facts() if fact not in before
    )
    assert talk.records(Kind.TURN)[-1].text == "My sister is called Ann."


def test_a_line_of_a_context_marks_its_turn(talk: Conversation) -> None:
    """A turn that repeats one line of a delivered context, without its frame, says what was left
    out.
    """
    talk.engine.add("The harbour master lives in Trondheim since 2019.", scope=ALICE)
    given = talk.engine.deliver("Where does the harbour master live?", scope=ALICE, session="s")
    line = next(line for line in given.text.splitlines() if "Trondheim" in line)
    talk.say(f"{line}\n\nMy sister is called Ann.")
    turn = talk.records(Kind.TURN)[-1]
    assert turn.meta["echo"] and all(len(mark) == 32 for mark in turn.meta["echo"])


def test_an_echo_is_known_after_a_crash(home: Path) -> None:
    """What a turn echoes is journaled with it:
    another process that learns from it leaves it out as well.
    """
    with engrams.open(
        home=home, jobs__workers=0, sessions__trigger="end", write__roles=("user", "assistant")
    ) as memory:
        memory.add("The harbour master lives in Trondheim.", scope=ALICE)
        given = memory.context("Where does the harbour master live?", scope=ALICE)
        before = {record.id for record in memory.list(scope=ALICE).records}
        memory.observe(
            Turn(f"{given.tail}\nThat is all that I know of it.", role="assistant", session="s"),
            scope=ALICE,
        )
    with engrams.open(home=home, jobs__workers=0, write__roles=("user", "assistant")) as memory:
        memory.sessions.end("s", scope=ALICE)
        new = [
            record
            for record in memory.list(scope=ALICE).records
            if record.id not in before and record.kind is not Kind.TURN
        ]
        assert [record.text for record in new if record.kind is not Kind.EPISODE] == []


def test_what_somebody_says_again_is_news(talk: Conversation) -> None:
    """The user may repeat their own words:
    that strengthens a memory. Words of another are an echo.
    """
    talk.say("I have been enjoying jazz.")
    talk.engine.context("What do I enjoy?", scope=ALICE)
    talk.say("I have been enjoying jazz.", session="t")
    assert talk.records(Kind.PREFERENCE)[0].strength == 2


@pytest.mark.covers("S3.52")
def test_files_that_a_project_ignores_are_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine reads the project's .gitignore and .secretsignore;
    text of files they name, and of .env, is refused.
    """
    (tmp_path / ".gitignore").write_text("build/\n/private/*.md\n")
    (tmp_path / ".secretsignore").write_text("*.vault\n")
    monkeypatch.chdir(tmp_path)
    for settings in ({}, {"write__ignore_root": str(tmp_path)}):
        with engrams.open(store__url=":memory:", **settings) as memory:
            for file in (
                "build/x.txt",
                "private/a.md",
                str(tmp_path / "private" / "a.md"),
                "notes.vault",
                "deep/.env",
            ):
                with pytest.raises(RefusedError):
                    memory.add(Turn("The launch is on Friday.", meta={"file": file}), scope=ALICE)
            assert (
                memory.add(
                    Turn("The launch is on Friday.", meta={"file": "src/main.py"}), scope=ALICE
                ).outcome
                == "stored"
            )


def test_what_was_told_before_there_is_a_list_is_kept() -> None:
    """Fingerprints that another process told before the first of this one's own are taken in."""
    peers = ProcessPeers()
    peers.receive("injected", ("user:ada", {"mark": "id"}))
    InjectedContextFingerprints(peers)
    assert not peers.is_waiting("injected")
