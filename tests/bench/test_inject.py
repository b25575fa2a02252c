"""The bench of what is put into prompts: its worlds are sound, and prompts are counted right."""

from __future__ import annotations

from dataclasses import replace

from bench.inject.metrics import METRICS, format_table, judge
from bench.inject.systems import BaselineWorld, EngramsWorld, Injection, ShownItem
from bench.inject.worlds import OWN_WORLDS, World, WorldPrompt, read_worlds


def find_world(name: str) -> World:
    return next(world for world in read_worlds([OWN_WORLDS]) if world.name == name)


def find_prompt(world: World, prompt_id: str) -> WorldPrompt:
    return next(prompt for prompt in world.prompts if prompt.id == prompt_id)


def test_labels_name_messages_of_their_world() -> None:
    """Every label is a message that the prompt can see; silent prompts need nothing."""
    worlds = read_worlds([OWN_WORLDS])
    assert {world.half for world in worlds} == {"tune", "held"}
    for world in worlds:
        ids = {turn.id for turn in world.turns}
        assert world.standing <= ids
        for prompt in world.prompts:
            assert prompt.right | prompt.stale <= ids, prompt.id
            assert prompt.is_silent is (not prompt.needed), prompt.id


def test_a_prompt_is_judged_by_what_was_shown() -> None:
    """The stale address beside the new one costs precision; a mark makes it no stale answer."""
    world = find_world("elodie")
    prompt = find_prompt(world, "elodie-p07")
    (needed,) = prompt.needed[0]
    (stale,) = prompt.stale
    right = ShownItem(frozenset((needed,)), 40, is_marked=False)
    old = ShownItem(frozenset((stale,)), 60, is_marked=False)
    row = judge(world, prompt, Injection((right, old, old), 25))
    assert (row.shown, row.right, row.missing) == (2, 1, ())
    assert row.stale_as_current == (stale,)
    assert METRICS["precision"]([row]) == 0.5
    assert METRICS["right text"]([row]) == 0.4
    marked = judge(world, prompt, Injection((right, replace(old, is_marked=True)), 25))
    assert marked.stale_as_current == ()
    nothing = judge(world, prompt, Injection((), 0))
    assert METRICS["false sil."]([row, nothing]) == 0.5
    assert METRICS["recall"]([row, nothing]) == 0.5
    assert "type changed" in format_table([row, nothing], samples=10, seed=1)


def test_a_baseline_shows_its_best_messages_in_reach() -> None:
    """Plain BM25 finds the header, and nothing of the other project."""
    world = find_world("quarry")
    system = BaselineWorld(world, "bm25")
    injection = system.inject(find_prompt(world, "quarry-p02"), "bm25")
    system.close()
    assert len(injection.items) == 3
    scopes = {turn.id: turn.scope for turn in world.turns}
    shown = set().union(*(item.sources for item in injection.items))
    assert find_prompt(world, "quarry-p02").needed[0] <= shown
    assert {scopes[name] for name in shown} == {("user", "anouk", "project", "quarry")}


def test_the_message_behind_a_doubt_comes_only_where_it_helps() -> None:
    """That somebody may drive lorries soon puts their hours and their van in doubt. The mark tells
    it; the message itself answers nothing about the plate of the car.
    """
    world = find_world("okafor")
    memory = EngramsWorld(world)
    for prompt_id in ("okafor-p03", "okafor-p17"):
        prompt = find_prompt(world, prompt_id)
        memory.now = prompt.at
        tail = memory.engine.context(prompt.text, scope=prompt.scope).tail
        assert tail
        assert "Dele: passed my theory test" not in tail
    memory.close()
