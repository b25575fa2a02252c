"""What an owner decided for every conversation."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.session.conversation import ALICE, Conversation

import engrams
from engrams.core import Scope
from engrams.ports import ScopeReach


@pytest.fixture
def talk() -> Iterator[Conversation]:
    conversation = Conversation()
    yield conversation
    conversation.close()


@pytest.mark.covers("S4.31")
def test_two_rules_at_once_are_two_rules(home: Path) -> None:
    """Concurrent saves keep every rule, once each, and the recall toggle that was decided
    meanwhile.
    """
    with engrams.open(home=home, jobs__workers=0) as memory:
        texts = ["Answer in French.", "Never use emoji.", "Keep it short.", "Answer in French."]
        threads = [
            threading.Thread(
                target=memory.sessions.save_rule, args=(text,), kwargs={"scope": ALICE}
            )
            for text in texts
        ]
        threads.append(threading.Thread(target=memory.sessions.recall, args=(ALICE, False)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        profile = memory.sessions.profile(ALICE)
        assert sorted(rule.text for rule in profile.rules) == sorted(set(texts))
        assert profile.recall is False


@pytest.mark.covers("S4.31")
def test_saving_and_clearing_rules_keep_the_toggle(talk: Conversation) -> None:
    """The toggle stays off when a rule is saved and when all are cleared."""
    sessions = talk.engine.sessions
    sessions.recall(ALICE, False)
    sessions.save_rule("Answer in French.", scope=ALICE)
    assert sessions.recall(ALICE) is False
    assert sessions.clear_rules(scope=ALICE) == 1
    assert sessions.profile(ALICE).rules == () and sessions.recall(ALICE) is False
    assert sessions.clear_rules(scope=ALICE) == 0


@pytest.mark.covers("S4.31")
def test_the_default_is_not_written(talk: Conversation) -> None:
    """Reading a profile nobody decided on, and deciding what is so already, stores nothing;
    another owner's is their own.
    """
    sessions = talk.engine.sessions
    alice = Scope(ALICE)
    assert sessions.recall(ALICE) is True
    assert sessions.recall(ALICE, True) is True
    assert talk.engine.store.sessions(ScopeReach(alice, (alice,), tree=True)) == ()
    sessions.recall(ALICE, False)
    assert sessions.recall(("user", "bob")) is True
    assert sessions.list(scope=ALICE) == ()


def test_the_toggle_outlives_the_process(home: Path) -> None:
    """What an owner decided is read by the next process;
    the preset of the layers starts with recall off.
    """
    with engrams.open(home=home) as memory:
        memory.sessions.recall(ALICE, False)
    with engrams.open(home=home) as memory:
        assert memory.sessions.recall(ALICE) is False
        assert memory.sessions.recall(("user", "bob")) is True
    with engrams.open(store__url=":memory:", preset="layers") as memory:
        assert memory.sessions.recall(ALICE) is False
