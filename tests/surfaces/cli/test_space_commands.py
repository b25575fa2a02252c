"""The commands of spaces, from creating one to its deletion."""

from __future__ import annotations

from typing import Any

from tests.surfaces.cli.test_chat import scripted

from engrams.testing import ScriptedModel


def test_a_family_shares_a_memory(engrams: Any) -> None:
    """Ann makes a space, Bob tells it something, Ann finds it; a reader only reads; a stranger is told
    that there is no such space.
    """
    assert "The space home is yours." in engrams("space create", "home").out
    engrams("space add", "home", "bob")
    engrams("space add", "home", "rita", "--role", "reader")
    shown = engrams("space show", "home", "--json").json
    assert [(member["owner"][-1], member["role"]) for member in shown["members"]] == [
        ("ann", "owner"),
        ("bob", "editor"),
        ("rita", "reader"),
    ]
    engrams("add", "--user", "bob", "--space", "home", "The ladder is in the shed.")
    answer = engrams("search", "Where is the ladder?")
    assert "bob  space home" in answer.out
    assert "The ladder is in the shed." in answer.out
    assert "shed" in engrams("list", "--user", "rita", "--space", "home").out
    refused = engrams("add", "--user", "rita", "--space", "home", "It is gone.")
    assert (refused.code, "takes the role editor; you are reader" in refused.err) == (4, True)
    stranger = engrams("search", "--user", "eve", "--space", "home", "ladder")
    assert (stranger.code, "You are in no space 'home'." in stranger.err) == (3, True)
    assert engrams("space list", "--user", "eve", "--json").json == {"spaces": []}


def test_a_space_ends(engrams: Any) -> None:
    """Members leave or are removed, and read nothing any more; its owner deletes it after a word."""
    engrams("space create", "trip")
    engrams("space add", "trip", "bob")
    engrams("space add", "trip", "rita")
    engrams("add", "--space", "trip", "We take the ferry at nine.")
    engrams("space leave", "trip", "--user", "bob")
    engrams("space remove", "trip", "rita")
    for user in ("bob", "rita"):
        assert "ferry" not in engrams("search", "--user", user, "When is the ferry?").out
    assert "Nobody would own" in engrams("space leave", "trip").err
    assert "Nothing was purged" in engrams("space delete", "trip", "--confirm", "no").err
    assert "ferry at nine" in engrams("search", "When is the ferry?").out
    assert engrams("space delete", "trip", "--confirm", "purge", "--json").json["proven"]
    assert "ferry" not in engrams("search", "When is the ferry?").out
    assert engrams("space list", "--json").json == {"spaces": []}


def test_a_chat_in_a_space_is_its_speakers(engrams: Any) -> None:
    """ "I" is the member who types, with a chat model and without."""
    engrams("space create", "home")
    engrams("space add", "home", "bob")
    engrams("chat", "--user", "bob", "--space", "home", stdin="I am allergic to walnuts.\n")
    with ScriptedModel(answer=lambda _: "Noted.") as model:
        engrams("chat", "--space", "home", *scripted(model), stdin="I am allergic to lilies.\n")
    listed = engrams("list", "--space", "home", "--kind", "turn", "--json").json["records"]
    spoken = {(memory["text"], memory["speaker"]) for memory in listed if memory["role"] == "user"}
    assert spoken == {("I am allergic to walnuts.", "bob"), ("I am allergic to lilies.", "ann")}
    (fact, *_) = engrams("search", "Who is allergic to walnuts?", "--json").json["hits"]
    assert (fact["facts"][0]["subject"], fact["facts"][0]["object"]) == ("bob", "walnuts")
