"""Modes:
what a request may lower, which parts may see incognito text, and that nothing of it stays anywhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.session.conversation import ALICE, Conversation

import engrams
from engrams.errors import InputError, RefusedError
from engrams.models.embed.null import NullEmbedder
from engrams.testing import HashEmbedder
from engrams.write.privacy_modes import PrivacyMode, parse_mode, require_incognito, resolve_mode

CANARY = "zanzibarquokka"


@pytest.mark.covers("S4.41", "S4.42")
def test_a_request_may_lower_the_mode_and_never_raise_it() -> None:
    """Incognito wins over whatever is set, local and synced never over incognito;
    guest is incognito; an unknown mode raises.
    """
    for configured in PrivacyMode:
        for asked in (None, "local", "synced", "incognito", "guest", " GUEST "):
            low = configured is PrivacyMode.INCOGNITO or (asked or "").strip().lower() in (
                "incognito",
                "guest",
            )
            assert resolve_mode(configured, asked) is (PrivacyMode.INCOGNITO if low else configured)
    for unknown in ("", "icognito", "private", "local ish", "\0"):
        with pytest.raises(InputError, match="no memory mode"):
            parse_mode(unknown)


@pytest.mark.covers("S4.41")
def test_a_session_of_an_unknown_mode_is_not_begun() -> None:
    """A mode misspelt raises before anything is kept."""
    talk = Conversation()
    with pytest.raises(InputError):
        talk.engine.sessions.begin("s", scope=ALICE, mode="incognitoo")
    with pytest.raises(InputError):
        talk.engine.sessions.mode("nobody knows")
    assert talk.engine.sessions.state("s", scope=ALICE) == "absent"
    talk.close()


@pytest.mark.covers("S4.42")
def test_synced_is_as_local(home: Path) -> None:
    """The synced mode keeps everything where the local one does, and says its name."""
    with engrams.open(home=home, sessions__mode="synced") as memory:
        memory.add("I live in Paris.", scope=ALICE)
        assert memory.sessions.begin("s", scope=ALICE).mode == "synced"
        assert memory.search("Where do I live?", scope=ALICE).hits
    assert (home / "memory.db").exists()


@pytest.mark.covers("S4.40")
def test_a_part_must_say_so_on_its_own_class() -> None:
    """Only ``incognito = True`` on the very class counts:
    not on the object, not inherited, nothing that is merely true.
    """

    class Said(NullEmbedder):
        incognito = True

    class Inherits(Said):
        pass

    class Truthy(NullEmbedder):
        incognito = 1  # type: ignore[assignment]

    class Silent:
        pass

    on_object = Silent()
    on_object.incognito = True  # type: ignore[attr-defined]
    require_incognito(Said())
    require_incognito(NullEmbedder())
    for part in (Inherits(), Truthy(), Silent(), on_object):
        with pytest.raises(RefusedError, match="does not declare"):
            require_incognito(part)


@pytest.mark.covers("S4.39", "S4.40")
def test_an_incognito_process_takes_only_such_parts() -> None:
    """A configured embedder that keeps things gives way to none;
    one that is handed in is refused.
    """

    class Keeps(HashEmbedder):
        pass

    with engrams.open(
        incognito=True, embed__provider="openai", embed__model="m", embed__url="http://127.0.0.1:9"
    ) as memory:
        assert memory.embedder.card.dimension == 0
    with pytest.raises(RefusedError):
        engrams.open(incognito=True, embedder=Keeps())
    engrams.open(incognito=True, embedder=HashEmbedder()).close()


WAYS = {
    "process": "memory = engrams.open(home=home, incognito=True)\n",
    "session": (
        "memory = engrams.open(home=home)\nmemory.sessions.begin('s', scope=A, mode='guest')\n"
    ),
    "call": (
        "memory = engrams.open(home=home)\nguard ="
        " memory.sessions.mode('incognito')\nguard.__enter__()\n"
    ),
}
BODY = """
turns = [Turn("My secret island is zanzibarquokka.", session="s") for _ in range(4)]
receipts = memory.observe(turns, scope=A)
assert {one.outcome for one in receipts} == {"incognito"}, receipts
given = memory.deliver("zanzibarquokka?", scope=A, session="s")
if sys.argv[2] != "process":
    assert given.text == "" and given.hits == ()
    if sys.argv[2] == "call":
        memory.add("zanzibarquokka", scope=A)
        assert memory.search("zanzibarquokka", scope=A).hits == ()
        assert memory.context("zanzibarquokka", scope=A).text == ""
    assert memory.status()["jobs"] == {}
    assert memory.list(scope=A).records == () and memory.stats()["status"] == {}
memory.drain(20)
if sys.argv[2] == "session":
    assert memory.sessions.end("s", scope=A).ended == {}
    assert memory.store.sessions(ScopeReach(Scope(A), (Scope(A),), tree=True)) == ()
if sys.argv[2] == "call":
    guard.__exit__(None, None, None)
    assert memory.add("I live in Paris.", scope=A).outcome == "stored"
if sys.argv[2] == "session":
    assert memory.add("I live in Paris.", scope=A).outcome == "stored"
memory.close()
"""


@pytest.mark.covers("S4.39")
@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_it_is_left_anywhere(tmp_path: Path, way: str) -> None:
    """After an incognito call, session or process no file of the home, the temporary folder or the
    logs holds a word of it.
    """
    home = tmp_path / "home"
    temp = tmp_path / "tmp"
    temp.mkdir()
    code = (
        "import logging, sys\nlogging.basicConfig(level=logging.DEBUG)\nimport engrams\nfrom"
        " engrams import Scope, Turn\nfrom engrams.ports import ScopeReach\nhome, A = sys.argv[1],"
        " ('user', 'alice')\n" + WAYS[way] + textwrap.dedent(BODY)
    )
    env = {
        **os.environ,
        "TMPDIR": str(temp),
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "ENGRAMS_HOME": str(home),
    }
    done = subprocess.run(
        [sys.executable, "-c", code, str(home), way],
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    assert CANARY not in (done.stdout + done.stderr).lower()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if CANARY.encode() in path.read_bytes().lower()] == []
    assert home.exists() is (way != "process")
