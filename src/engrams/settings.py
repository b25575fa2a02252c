"""Every setting of engrams, in one frozen object.

Precedence, weakest first: the defaults below, a preset (``presets/*.toml``), ``config.toml`` in the home folder,
``ENGRAMS_*`` variables (``ENGRAMS_READ__LIMIT=20``: two underscores go one section down), arguments.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engrams.errors import SettingsError

Share: TypeAlias = float


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class Limits(Section):
    """Sizes beyond which input is refused."""

    text_bytes: int = Field(1_000_000, ge=1, description="Largest text of one memory, bytes of UTF-8.")
    meta_bytes: int = Field(100_000, ge=2, description="Largest metadata of one memory, bytes of JSON.")
    results: int = Field(1000, ge=1, description="Largest `limit` of a search or page.")


class StoreSettings(Section):
    """Where memory lives."""

    url: str = Field("", description="Empty: memory.db in the home folder. `:memory:`, a path, or postgresql://…")
    durability: Literal["full", "normal"] = Field("full", description="full: an acknowledged write survives power loss.")
    readers: int = Field(4, ge=1, le=64, description="Reading connections.")
    busy_seconds: float = Field(10.0, ge=0, description="How long to wait for another process's write.")
    cache_bytes: int = Field(1_000_000_000, ge=1_000_000, description="Memory for loaded search indexes, bytes.")
    exact_limit: int = Field(30_000, ge=100, description="Records in reach up to which everything is scored exactly.")


class EmbedSettings(Section):
    """The embedding model."""

    provider: Literal["builtin", "onnx", "openai", "ollama", "null"] = Field("builtin", description="Which one.")
    model: str = Field("", description="onnx: a folder or hub name. openai, ollama: the model's name.")
    url: str = Field("", description="Base URL of the server (openai, ollama).")
    api_key: str = Field("", description="Key for that server.", json_schema_extra={"secret": True})
    query_prefix: str | None = Field(None, description="Text put before a query. None: the model card's; empty: none.")
    dimension: int = Field(0, ge=0, description="Ask the server for this many dimensions. 0: its own.")
    batch: int = Field(64, ge=1, description="Texts a call.")
    timeout: float = Field(30.0, gt=0, description="Seconds a call may take.")


class ChatSettings(Section):
    """The language model for extraction and tending; none is needed."""

    provider: Literal["none", "openai", "ollama"] = Field("none", description="Which kind of server.")
    model: str = Field("", description="The model's name.")
    url: str = Field("", description="Base URL, for example http://localhost:11434.")
    api_key: str = Field("", description="Key for that server.", json_schema_extra={"secret": True})
    timeout: float = Field(60.0, gt=0, description="Seconds a call may take.")
    retries: int = Field(3, ge=0, le=10, description="Tries after a failure that waiting may cure.")
    daily_calls: int = Field(0, ge=0, description="Calls a day, 0: no limit.")
    daily_tokens: int = Field(0, ge=0, description="Tokens a day, 0: no limit.")


class WriteSettings(Section):
    """What happens to a text on its way in."""

    gate: bool = Field(True, description="Keep small talk and noise from extraction (the journal keeps every turn).")
    min_words: int = Field(2, ge=0, description="Fewer meaningful words than this are not extracted from.")
    extract: Literal["off", "rules", "llm", "auto"] = Field("auto", description="auto: llm where a chat model is set, else rules.")
    speakers: tuple[str, ...] = Field(("user",), description="Roles whose statements become memories.")
    reconcile: Literal["off", "rules", "llm", "auto"] = Field("auto", description="How a new fact meets the known ones.")
    policy: Literal["off", "rules", "llm"] = Field("rules", description="Whether a candidate is stored, held or dropped.")
    secrets: Literal["redact", "refuse", "off"] = Field("redact", description="What to do with API keys, passwords and tokens.")
    pii: Literal["allow", "redact", "refuse"] = Field("allow", description="What to do with personal data such as card numbers.")
    dedup_jaccard: Share = Field(0.85, ge=0, le=1, description="Token overlap from which two facts of one triple are one (004).")
    min_confidence: Share = Field(0.5, ge=0, le=1, description="Candidates below this are dropped.")
    batch: int = Field(12, ge=1, description="Turns a model extraction looks at together.")
    debounce: float = Field(30.0, ge=0, description="Seconds of quiet before a model extraction runs (001).")


class ReadWeights(Section):
    """Weights of the absolute scores that a read adds up; fitted on conversations left out (docs/concepts/recall)."""

    cos: float = 4.5
    cosctx: float = 4.85
    bm: float = 1.3
    bmctx: float = 3.3
    bmses: float = 3.8
    speaker: float = 2.5
    date: float = 3.1
    question: float = -0.5
    when: float = 2.1
    length: float = 0.6
    recency: float = 0.05
    importance: float = 0.0
    confidence: float = 0.0


class ReadSettings(Section):
    """How memories are found."""

    limit: int = Field(10, ge=0, description="Hits a search returns by default.")
    width: int = Field(400, ge=10, description="Candidates a source contributes in a large scope.")
    fusion: Literal["weighted", "rrf"] = Field("weighted", description="How sources are joined.")
    rrf_k: float = Field(60.0, gt=0, description="RRF constant (003, 004).")
    weights: ReadWeights = ReadWeights()
    recency_days: float = Field(30.0, gt=0, description="tau of exp(-age/tau), days (002).")
    floor: Share = Field(0.0, ge=0, le=1, description="Fused absolute score below which nothing is returned.")
    abstain: Share = Field(0.12, ge=0, le=1, description="Best score below which a read says that nothing came near.")
    mmr_lambda: Share = Field(1.0, ge=0, le=1, description="1: relevance only; lower: more variety (002: 0.7).")
    duplicate: Share = Field(0.97, ge=0, le=1, description="Word overlap from which a later hit repeats an earlier one.")
    context_tokens: int = Field(2000, ge=0, description="Token budget of a context (001).")
    prefix_tokens: int = Field(600, ge=0, description="Share of it that the stable profile may use.")
    tokens: str = Field("estimate", description="Token counter: estimate, or a tiktoken encoding's name.")


class JobSettings(Section):
    """Work off the path."""

    workers: int = Field(4, ge=0, le=64, description="Worker threads (000); 0: jobs run only when asked.")
    retries: int = Field(5, ge=1, description="Attempts before a job waits in the dead-letter list.")
    backoff: float = Field(2.0, ge=0, description="Seconds before the first retry; doubles, to an hour at most.")
    lease: float = Field(120.0, gt=0, description="Seconds after which a silent worker's job is taken over.")


class ServeSettings(Section):
    """engrams serve."""

    host: str = Field("127.0.0.1", description="Address; any other than loopback needs keys.")
    port: int = Field(8100, ge=0, le=65535, description="Port (002).")
    upstream: str = Field("", description="Base URL of an OpenAI-compatible server; empty: answer from memory.")
    upstream_key: str = Field("", description="Key for it; a client's own bearer token wins.", json_schema_extra={"secret": True})
    top_k: int = Field(5, ge=0, description="Memories put into a request (002); 0: none.")
    timeout: float = Field(600.0, gt=0, description="Seconds an upstream answer may take.")


class Settings(Section):
    """All of them. Build with ``load``; change with ``model_copy(update=...)``."""

    home: Path = Field(Path("~/.engrams"), description="The home folder (ENGRAMS_HOME).")
    preset: str = Field("default", description="Which preset the values start from.")
    user: str = Field("", description="Whose memory commands without --user use. Empty: the login name.")
    enabled: bool = Field(True, description="False: nothing is read, written or run.")
    incognito: bool = Field(False, description="True: memory lives in this process only; no trace on disk.")
    limits: Limits = Limits()
    store: StoreSettings = StoreSettings()
    embed: EmbedSettings = EmbedSettings()
    chat: ChatSettings = ChatSettings()
    write: WriteSettings = WriteSettings()
    read: ReadSettings = ReadSettings()
    jobs: JobSettings = JobSettings()
    serve: ServeSettings = ServeSettings()


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings and, for each dotted name, where its value came from."""

    settings: Settings
    origin: Mapping[str, str] = field(default_factory=dict)


def load(arguments: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Loaded:
    """Read every layer. ``arguments``: dotted names to values, strongest. SettingsError names the wrong one."""
    env = os.environ if environ is None else environ
    given = {key: value for key, value in (arguments or {}).items() if value is not None}
    from_env = _environment(env)
    home = Path(str(given.get("home") or from_env.get("home") or "~/.engrams")).expanduser()
    file = home / "config.toml"
    from_file = _flat(_toml(file.read_text("utf-8"), str(file))) if file.is_file() else {}
    preset = str(given.get("preset") or from_env.get("preset") or from_file.get("preset") or "default")
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    layers = [(f"preset {preset}", _preset(preset)), (str(file), from_file), ("environment", from_env), ("argument", given)]
    for source, layer in layers:
        values.update(layer)
        origin.update(dict.fromkeys(layer, source))
    values["home"] = home
    values["preset"] = preset
    try:
        settings = Settings.model_validate(_nest(values))
    except ValidationError as problem:
        first = problem.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"Setting {name!r} ({origin.get(name, 'unknown place')}): {first['msg']}.") from None
    return Loaded(settings, origin)


def describe() -> list[tuple[str, Any, str, bool]]:
    """Every setting: dotted name, default, description, whether it is a secret."""
    return list(_describe(Settings, ""))


def presets() -> tuple[str, ...]:
    """The names of the presets that ship."""
    folder = resources.files("engrams") / "presets"
    return tuple(sorted(item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml")))


def _describe(section: type[BaseModel], prefix: str) -> Any:
    for name, info in section.model_fields.items():
        default = info.default
        if isinstance(default, BaseModel):
            yield from _describe(type(default), f"{prefix}{name}.")
        else:
            extra = info.json_schema_extra
            yield prefix + name, default, info.description or "", isinstance(extra, dict) and bool(extra.get("secret"))


def _preset(name: str) -> dict[str, Any]:
    if name not in presets():
        raise SettingsError(f"There is no preset {name!r}.", hint=f"The presets are: {', '.join(presets())}.")
    return _flat(_toml((resources.files("engrams") / "presets" / f"{name}.toml").read_text("utf-8"), name))


def _toml(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(f"{where} is not valid TOML: {problem}.", hint="Mend the file or move it aside.") from None


def _environment(env: Mapping[str, str]) -> dict[str, Any]:
    names = {name for name, *_ in describe()}
    found: dict[str, Any] = {}
    for key, value in env.items():
        if key.startswith("ENGRAMS_"):
            name = key.removeprefix("ENGRAMS_").lower().replace("__", ".")
            if name not in names:
                raise SettingsError(f"The variable {key} names no setting.")
            found[name] = [part for part in value.split(",") if part] if name == "write.speakers" else value
    return found


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        *sections, last = name.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
        node[last] = value
    return tree
