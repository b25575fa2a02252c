"""The chat client of asyncio programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engrams.adapters import MemoryClient
from engrams.errors import ClosedError, InputError, ModelError, SettingsError
from engrams.settings import load
from engrams.testing import ScriptedModel, temp_engine


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that learns nothing by itself."""
    with ScriptedModel() as server:
        yield server.when("statements", {"statements": []})


def opened(model: ScriptedModel, home: Path, **more: object) -> MemoryClient:
    """A client on that model, its jobs run by hand."""
    settings = {"jobs__workers": 0, "vault__git": False, "chat__retries": 0, **more}
    return MemoryClient.open(f"{model.url}/v1", model="m", path=home, user="ann", **settings)


@pytest.mark.covers("S2.12")
async def test_chat_search_add_and_list(model: ScriptedModel, home: Path) -> None:
    """A told statement is found, put before the last message of a chat, and listed;
    a chat keeps its question in the log.
    """
    async with opened(model, home) as client:
        receipt = await client.add("The spare key is under the blue pot", "work")
        assert receipt.outcome == "stored"
        assert (await client.search("spare key", "work"))[0]["id"] == receipt.id
        model.say("Under the blue pot.")
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Where is the spare key?"},
        ]
        answer = await client.chat(messages, "work")
        assert answer["choices"][0]["message"] == {
            "role": "assistant",
            "content": "Under the blue pot.",
        }
        assert answer["memory_hits"][0]["id"] == receipt.id
        roles = model.requests[-1].messages
        assert (
            roles[0] == ("system", "Be brief.")
            and roles[-1][1].endswith("Where is the spare key?")
            and "blue pot" in roles[-1][1]
        )
        listed = await client.list_all("work")
        assert [memory["content"] for memory in listed if memory["kind"] == "turn"] == [
            "Under the blue pot."
        ]
        assert {memory["conversation_id"] for memory in listed} == {"work"}


@pytest.mark.covers("S2.12", "S2.52")
async def test_conversations_share_only_what_is_global(model: ScriptedModel, home: Path) -> None:
    """Another conversation finds what was told to `global`, and nothing of its neighbour;
    a hostile name is a name.
    """
    async with opened(model, home) as client:
        await client.add("The spare key is under the blue pot", "work")
        await client.add("The spare bicycle is in the cellar", "global")
        texts = [hit["content"] for hit in await client.search("spare", "../work")]
        assert texts == ["The spare bicycle is in the cellar"]
        assert {hit["conversation_id"] for hit in await client.search("spare", "work")} == {
            "work",
            "global",
        }
        assert await client.list_all("../work") == []
    assert not (home.parent / "work").exists()


@pytest.mark.covers("S2.12", "S2.30")
async def test_no_memories_leave_the_prompt_alone(model: ScriptedModel, home: Path) -> None:
    """With `top_k` 0 the messages go to the model as they came;
    by default five memories go along.
    """
    assert load({"preset": "proxy"}, environ={}).settings.serve.top_k == 5
    async with opened(model, home) as client:
        for number in range(9):
            await client.add(f"The spare key number {number} is under pot {number}", "work")
        model.say("Hm.", "Hm.")
        assert (await client.chat([{"role": "user", "content": "spare key?"}], "work", top_k=0))[
            "memory_hits"
        ] == []
        assert model.requests[-1].messages == (("user", "spare key?"),)
        assert (
            1
            <= len(
                (
                    await client.chat(
                        [{"role": "user", "content": "Where are the spare keys?"}], "work"
                    )
                )["memory_hits"]
            )
            <= 5
        )


@pytest.mark.covers("S2.12")
async def test_starting_and_stopping(model: ScriptedModel, home: Path) -> None:
    """Starting twice is once;
    stopping keeps what was said for the next client, and a stopped one is closed.
    """
    client = opened(model, home)
    await client.start()
    await client.start()
    await client.add("The spare key is under the blue pot")
    await client.stop()
    await client.stop()
    with pytest.raises(ClosedError):
        await client.search("spare key")
    async with opened(model, home) as again:
        assert "blue pot" in (await again.search("spare key"))[0]["content"]


@pytest.mark.covers("S2.51")
def test_an_address_is_required(home: Path) -> None:
    """Without the address of a model server there is no client;
    the rest of the table has its defaults.
    """
    with pytest.raises(SettingsError, match="address of a model server"):
        MemoryClient.open("", path=home)
    settings = load({"preset": "proxy"}, environ={}).settings
    assert (
        settings.serve.port,
        settings.serve.top_k,
        settings.read.mmr_lambda,
        settings.read.recency_weight,
    ) == (8100, 5, 0.7, 0.2)
    assert (settings.rerank.threshold, settings.vault.git, settings.summary.enabled) == (
        0.35,
        True,
        True,
    )
    assert settings.embed.provider == "builtin"
    remote = load(
        {"preset": "proxy", "embed.provider": "openai", "embed.url": "http://localhost:1"},
        environ={},
    ).settings
    assert remote.embed.provider == "openai"


@pytest.mark.covers("S2.54")
async def test_a_failure_afterwards_does_not_reach_the_next_request(
    model: ScriptedModel, home: Path
) -> None:
    """What extraction fails at is in the status; the chats after it are answered, and remember."""
    async with opened(model, home, jobs__max_attempts=1) as client:
        model.say("Hello.")
        await client.chat([{"role": "user", "content": "My sister Lou lives in Lisbon"}], "work")
        model.fail("http_500", times=1)
        client.engine.drain()
        dead = client.engine.status()["dead"]
        assert [job["kind"] for job in dead] == ["extract"] and "500" in dead[0]["error"]
        model.say("In Lisbon.")
        answer = await client.chat([{"role": "user", "content": "Where does Lou live?"}], "work")
        assert answer["choices"][0]["message"]["content"] == "In Lisbon." and "Lisbon" in str(
            answer["memory_hits"]
        )


async def test_what_cannot_be_answered_says_so(model: ScriptedModel, home: Path) -> None:
    """No model, nobody asking, a model that fails:
    each its own error; what the user said is kept.
    """
    with temp_engine(jobs__workers=0) as engine, pytest.raises(SettingsError):
        await MemoryClient(engine, user="ann").chat([{"role": "user", "content": "hi"}])
    async with opened(model, home) as client:
        with pytest.raises(InputError):
            await client.chat([{"role": "system", "content": "hi"}])
        model.fail("http_500", times=3)
        with pytest.raises(ModelError):
            await client.chat([{"role": "user", "content": "My sister Lou lives in Lisbon"}])
        assert [memory["role"] for memory in await client.list_all()] == ["user"]
