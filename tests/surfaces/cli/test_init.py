"""engrams init: three answers to a working memory, or the rules."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import Turn
from engrams.models import server_discovery
from engrams.ports import DiscoveredModelServer
from engrams.program.main import main
from engrams.surfaces.cli import init
from engrams.testing import ScriptedModel

THINGS = ("violin", "kayak", "tractor", "lantern", "teapot", "carpet", "hammer", "saddle")
PLACES = ("attic", "cellar", "garage", "kitchen", "garden", "hallway")


def setup(home: Path, *arguments: str) -> int:
    return main(["init", "--home", str(home), *arguments])


def test_a_server_by_its_address_is_tried_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The protocol and the model are found out; the settings load and the model answers."""
    with ScriptedModel(models=("nomic-embed-text", "scripted")) as model:
        assert setup(tmp_path, "--url", model.url, "--json") == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["model"] == "scripted"
        assert "JSON" in answer["tested"]
        config = tomllib.loads((tmp_path / "config.toml").read_text("utf-8"))
        assert config == {
            "chat": {"provider": "openai", "url": f"{model.url}/v1", "model": "scripted"}
        }
        assert main(["config", "chat.model", "--home", str(tmp_path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["chat.model"]["value"] == "scripted"


def test_a_model_that_is_too_slow_is_asked_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A gateway's time-out is said to be one, after one question;
    the end of a good trial says how to chat through memory.
    """
    with ScriptedModel() as model:
        model.fail("http_504", times=9)
        assert setup(tmp_path, "--url", model.url, "--yes") == 6
        assert "too slow for the gateway" in capsys.readouterr().err
        assert sum(request.route == "chat" for request in model.requests) <= 2
        model.heal()
        assert setup(tmp_path, "--url", model.url, "--yes") == 0
        assert "serve.upstream" in capsys.readouterr().out


def test_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    """Comments, other tables and other settings of the table are kept;
    running it again changes nothing.
    """
    file = tmp_path / "config.toml"
    file.write_text(
        '# mine\nuser = "ann"\n\n[chat]\nmodel = "old" # why\nretries = 5\n\n[read]\nlimit = 7\n',
        "utf-8",
    )
    assert setup(tmp_path, "--no-model") == 0
    text = file.read_text("utf-8")
    assert text.startswith('# mine\nuser = "ann"\n')
    assert tomllib.loads(text) == {
        "user": "ann",
        "chat": {"provider": "none", "model": "old", "retries": 5},
        "read": {"limit": 7},
    }
    assert setup(tmp_path, "--no-model") == 0
    assert file.read_text("utf-8") == text


def test_three_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which server, which model, write it: then a message is learned from by that model."""
    answers = iter(["1", "scripted"])
    with ScriptedModel() as model:
        places = (
            DiscoveredModelServer("llama.cpp", "openai", f"{model.url}/v1"),
            DiscoveredModelServer("vLLM", "openai", "http://127.0.0.1:9/v1"),
        )
        monkeypatch.setattr(server_discovery.find_model_servers, "__defaults__", (places, 2.0))
        monkeypatch.setattr("sys.stdin", _Terminal())
        monkeypatch.setattr(init.typer, "prompt", lambda *_, **__: next(answers))
        monkeypatch.setattr(init.typer, "confirm", lambda *_, **__: True)
        assert setup(tmp_path) == 0
        output = capsys.readouterr().out
        assert "1. llama.cpp" in output
        assert "vLLM" not in output
        assert main(["doctor", "--home", str(tmp_path), "--json"]) == 0
    assert tomllib.loads((tmp_path / "config.toml").read_text("utf-8"))["chat"]["url"].endswith(
        "/v1"
    )


def test_without_a_server_the_rules_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No model, no failure: it says what the rules do."""
    monkeypatch.setattr(
        server_discovery.find_model_servers,
        "__defaults__",
        ((DiscoveredModelServer("vLLM", "openai", "http://127.0.0.1:9/v1"),), 1.0),
    )
    assert setup(tmp_path, "--yes") == 0
    assert "by rules" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--url", "nonsense"), "not usable"),
        (("--url", "http://127.0.0.1:9"), "lists no models"),
    ],
)
def test_a_wrong_address_writes_nothing(
    tmp_path: Path, arguments: Any, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error says what to check."""
    assert setup(tmp_path, *arguments) != 0
    assert told in capsys.readouterr().err
    assert not (tmp_path / "config.toml").exists()


def test_a_model_that_does_not_exist_and_one_without_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong name lists the right ones; a server that breaks is not written."""
    with ScriptedModel() as model:
        assert setup(tmp_path, "--url", model.url, "--model", "gpt-9") != 0
        assert "scripted" in capsys.readouterr().err
    assert not (tmp_path / "config.toml").exists()


def test_a_stored_key_goes_to_its_own_server_alone(tmp_path: Path) -> None:
    """Another server is neither tried nor written with the key of the first."""
    with ScriptedModel() as model, ScriptedModel() as other_model:
        assert setup(tmp_path, "--url", model.url, "--api-key", "sk-first") == 0
        model.requests.clear()
        assert setup(tmp_path, "--url", model.url) == 0
        assert {request.headers.get("authorization") for request in model.requests} == {
            "Bearer sk-first"
        }
        assert (
            tomllib.loads((tmp_path / "config.toml").read_text("utf-8"))["chat"]["api_key"]
            == "sk-first"
        )
        assert setup(tmp_path, "--url", other_model.url) == 0
        assert not [
            request for request in other_model.requests if "sk-first" in str(request.headers)
        ]
        assert tomllib.loads((tmp_path / "config.toml").read_text("utf-8"))["chat"]["api_key"] == ""


def test_another_server_is_asked_for_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An address typed in place of a number:
    its key is asked for, then the model by its number; what is sent where is told.
    """
    with ScriptedModel(models=("small", "scripted")) as model:
        answers = iter([model.url, "sk-typed", "2"])
        monkeypatch.setattr(server_discovery.find_model_servers, "__defaults__", ((), 1.0))
        monkeypatch.setattr("sys.stdin", _Terminal())
        monkeypatch.setattr(init.typer, "prompt", lambda *_, **__: next(answers))
        collected: list[str] = []
        monkeypatch.setattr(
            init.typer, "confirm", lambda text, *_, **__: collected.append(text) or True
        )
        assert setup(tmp_path) == 0
        config_text = {
            "provider": "openai",
            "url": f"{model.url}/v1",
            "model": "scripted",
            "api_key": "sk-typed",
        }
        assert tomllib.loads((tmp_path / "config.toml").read_text("utf-8"))["chat"] == config_text
        assert (
            "proxy in front" in collected[0]
            and f"sent to {model.url}, which is this machine" in collected[1]
        )
        assert "sk-typed" not in capsys.readouterr().out


def test_options_that_mean_nothing_together_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is dropped without a word, and nothing is written."""
    for arguments in (
        ("--no-model", "--proxy"),
        ("--no-model", "--embedding-model", "best"),
        ("--reranker", "some/model", "--url", "http://127.0.0.1:9"),
    ):
        assert setup(tmp_path, *arguments) == 1
        assert f"{arguments[0]} does not go together with" in capsys.readouterr().err
    assert not (tmp_path / "config.toml").exists()


class _Terminal:
    def isatty(self) -> bool:
        return True

    def read(self) -> str:
        return ""


def test_the_proxys_upstream_is_written_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--proxy` writes the server as the upstream too;
    without it the line to do so has its address.
    """
    with ScriptedModel() as model:
        assert setup(tmp_path, "--url", model.url, "--no-test") == 0
        assert f'serve.upstream = "{model.url}' in capsys.readouterr().out
        assert "serve" not in tomllib.loads((tmp_path / "config.toml").read_text("utf-8"))
        assert setup(tmp_path, "--url", model.url, "--no-test", "--proxy", "--json") == 0
        assert json.loads(capsys.readouterr().out)["proxy"] is True
        config = tomllib.loads((tmp_path / "config.toml").read_text("utf-8"))
        assert (
            config["serve"]["upstream"].startswith(model.url)
            and config["chat"]["model"] == "scripted"
        )
        assert setup(tmp_path, "--url", model.url, "--no-test") == 0
        assert "serve.upstream is set too" in capsys.readouterr().out


def test_the_strongest_embedder_of_the_server_is_proposed_and_written_when_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is changed unasked; `best` takes the strongest, tries it and writes it."""
    names = ("all-minilm", "bge-reranker", "scripted", "nomic-embed-text", "bge-m3")
    with ScriptedModel(models=names, dimension=1024) as model:
        assert setup(tmp_path, "--url", model.url, "--yes") == 0
        assert "--embedding-model bge-m3" in capsys.readouterr().out
        assert setup(tmp_path, "--url", model.url, "--yes") == 0
        assert "--embedding-model" not in capsys.readouterr().out, "it was said before"
        file = tmp_path / "config.toml"
        assert "embed" not in tomllib.loads(file.read_text("utf-8"))
        options = ("--url", model.url, "--embedding-model", "best", "--json")
        assert setup(tmp_path, *options) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["embedding_model"] == "bge-m3"
        assert answer["embedding_models"] == ["bge-m3", "nomic-embed-text", "all-minilm"]
        assert "1024 dimensions" in answer["embedding_tested"]
        assert tomllib.loads(file.read_text("utf-8"))["embed"] == {
            "provider": "openai",
            "url": f"{model.url}/v1",
            "model": "bge-m3",
        }
        assert main(["add", "--home", str(tmp_path), "The kettle whistles."]) == 0
        assert main(["status", "--home", str(tmp_path), "--wait", "--json"]) == 0
        assert any(request.route == "embeddings" for request in model.requests)


def test_an_embedder_that_fails_or_is_not_there_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model is tried before anything is written."""
    with ScriptedModel(models=("scripted", "nomic-embed-text")) as model:
        assert setup(tmp_path, "--url", model.url, "--embedding-model", "bge-m3") != 0
        assert "nomic-embed-text" in capsys.readouterr().err
        model.fail("http_400", times=9, only="embeddings")
        assert setup(tmp_path, "--url", model.url, "--embedding-model", "best") != 0
        assert not (tmp_path / "config.toml").exists()


@pytest.fixture
def talked(tmp_path: Path) -> Path:
    """A home in which forty-eight pairs of messages follow each other, each pair about one thing."""
    with engrams.open(home=tmp_path, jobs__workers=0) as memory:
        for place in PLACES:
            for thing in THINGS:
                pair = (f"The {thing} is in the {place}.", f"A {thing} is heavy in a {place}.")
                turns = [Turn(text, session=f"{place} {thing}") for text in pair]
                memory.observe(turns, scope=("user", "ann"))
        memory.drain(60)
    return tmp_path


def test_an_embedder_that_is_worse_on_the_persons_own_messages_is_not_written(
    talked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is tried on them, beside the one in use; only --no-test writes it, and then the doctor
    says that words take its part.
    """
    # In four dimensions there is not much to tell apart.
    with ScriptedModel(models=("scripted", "tiny-embed"), dimension=4) as model:
        options = ("--user", "ann", "--url", model.url, "--embedding-model", "best")
        assert setup(talked, *options, "--json") == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["embedding_model"] == ""
        assert "tells your last 96 messages apart" in answer["embedding_tested"]
        config = tomllib.loads((talked / "config.toml").read_text("utf-8"))
        assert (config["chat"]["model"], "embed" in config) == ("scripted", False)
        assert setup(talked, *options) == 0
        assert "The embedder stays as it was" in capsys.readouterr().out
        assert setup(talked, *options, "--no-test") == 0
        config = tomllib.loads((talked / "config.toml").read_text("utf-8"))
        assert config["embed"]["model"] == "tiny-embed"
        assert main(["status", "--home", str(talked), "--wait"]) == 0
        capsys.readouterr()
        main(["doctor", "--home", str(talked), "--user", "ann"])
        assert "words count instead of its vectors" in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("openrouter", "https://openrouter.ai/api/v1"),
        ("Gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("azure:acme", "https://acme.openai.azure.com/openai/v1"),
        ("bedrock:eu-west-1", "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1"),
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("localhost:8000", "localhost:8000"),
    ],
)
def test_hosted_servers_have_names(name: str, address: str) -> None:
    """A known name stands for its address; an address stays."""
    assert server_discovery.expand_server_name(name) == address


def test_a_server_with_an_address_of_its_own_needs_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error says what to add to the name."""
    assert setup(tmp_path, "--url", "azure") != 0
    assert "azure:NAME" in capsys.readouterr().err


@pytest.mark.parametrize(
    "before",
    [
        None,
        "",
        "[read]\nlimit = 7\n",
        '# mine\npreset = "graph"\nuser = "ann"\n\n[read]\nlimit = 7\n',
        'user = "ann"\n\n[[serve.routes]]\nmodels = ["m"]\nurl = "http://127.0.0.1:9"\n',
    ],
)
def test_a_named_preset_is_that_of_the_home(
    tmp_path: Path, before: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Later commands start from it without the option; the rest of the file stays."""
    config = tmp_path / "config.toml"
    if before is not None:
        config.write_text(before, "utf-8")
    old = tomllib.loads(before or "")
    assert setup(tmp_path, "--no-model", "--preset", "cache") == 0
    assert "preset of this home is cache" in capsys.readouterr().out
    assert tomllib.loads(config.read_text("utf-8")) == {
        **old,
        "preset": "cache",
        "chat": {"provider": "none"},
    }
    assert main(["config", "tiers.enabled", "--home", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tiers.enabled"]["value"] is True
    with ScriptedModel() as model:
        assert setup(tmp_path, "--url", model.url, "--yes", "--preset", "engine", "--json") == 0
    assert json.loads(capsys.readouterr().out)["preset"] == "engine"
    assert setup(tmp_path, "--no-model") == 0
    assert tomllib.loads(config.read_text("utf-8"))["preset"] == "engine"
    assert setup(tmp_path, "--no-model", "--preset", "cahce") != 0
    assert tomllib.loads(config.read_text("utf-8"))["preset"] == "engine"
