"""Settings of the models: embedder, chat model, reranker."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engrams.settings.section import SettingsSection, Share


class EmbedSettings(SettingsSection):
    """The embedding model."""

    provider: Literal["builtin", "onnx", "openai", "ollama", "null"] = Field(
        "builtin",
        description=(
            "builtin: the table that ships. onnx: a model file. openai, ollama: a server. null: no"
            " vectors, words only."
        ),
    )
    model: str = Field(
        "", description="onnx: a folder or hub name. openai, ollama: the model's name."
    )
    url: str = Field("", description="Base URL of the server (openai, ollama).")
    api_key: str = Field("", description="Key for that server.", json_schema_extra={"secret": True})
    cosine_model: str = Field(
        "",
        description=(
            "Model for which the preset's cosines were chosen. engrams converts them for your"
            " model. Empty: no conversion."
        ),
    )
    query_prefix: str | None = Field(
        None,
        description=(
            "Text before each query. None: the prefix of the model's card. Empty: no prefix."
        ),
    )
    dimension: int = Field(
        0, ge=0, description="Number of dimensions to request from the server. 0: the model's own."
    )
    incognito: Literal["own", "null"] = Field(
        "own",
        description=(
            "Embedder in incognito. own: the usual one, if it stores nothing. null: no vectors."
        ),
    )
    batch_size: int = Field(64, ge=1, description="Texts in one call.")
    timeout_seconds: float = Field(30.0, gt=0, description="Seconds a call may take.")
    query_seconds: float = Field(
        5.0,
        gt=0,
        description=(
            "Seconds a search waits for the vector of its query; then it goes by words alone, and"
            " says so. At the proxy `serve.memory_seconds` counts."
        ),
    )


class ChatSettings(SettingsSection):
    """The language model for extraction and upkeep; none is needed."""

    provider: Literal["none", "openai", "ollama"] = Field(
        "none",
        description=(
            "none: rules only. openai: any server with the OpenAI protocol. ollama: Ollama's own"
            " protocol."
        ),
    )
    model: str = Field("", description="The model's name.")
    url: str = Field("", description="Base URL, for example http://localhost:11434.")
    api_key: str = Field("", description="Key for that server.", json_schema_extra={"secret": True})
    timeout_seconds: float = Field(
        300.0,
        gt=0,
        description=(
            "Most seconds for a whole answer. A model that needed more before gets more, up to an"
            " hour."
        ),
    )
    connect_seconds: float = Field(10.0, gt=0, description="Seconds to reach the server.")
    silence_seconds: float = Field(
        60.0,
        gt=0,
        description="Seconds without a byte after which a begun answer is cancelled.",
    )
    retries: int = Field(
        3, ge=0, le=10, description="Further attempts after a failure that may be temporary."
    )
    daily_calls: int = Field(0, ge=0, description="Most calls a day. 0: no limit.")
    daily_tokens: int = Field(0, ge=0, description="Most tokens a day. 0: no limit.")


class JudgeSettings(SettingsSection):
    """A decision model, which answers by probabilities instead of words."""

    provider: Literal["none", "decisions"] = Field(
        "none",
        description=(
            "decisions: a server with /v1/decisions. It decides whether a new statement repeats"
            " or changes a known one, before the chat model is asked. With `rerank.provider ="
            " judge` it also reranks."
        ),
    )
    model: str = Field("", description="The model's name.")
    url: str = Field("", description="Base URL of the server. Empty: https://api.openai.com/v1.")
    api_key: str = Field("", description="Key for that server.", json_schema_extra={"secret": True})
    seconds: float = Field(10.0, gt=0, description="Most seconds for one decision.")
    threshold: Share = Field(
        0.8,
        gt=0.5,
        le=1,
        description=(
            "Least probability of a sure yes; 1 minus this value is the largest probability of a"
            " sure no. Between them, the chat model or rules decide."
        ),
    )


class MediaModelSettings(SettingsSection):
    """A model that tells of files in words."""

    model: str = Field("", description="The model's name. Empty: none is connected.")
    url: str = Field("", description="Base URL with /v1. Empty: that of `chat.url`.")
    api_key: str = Field("", description="Key for that server.", json_schema_extra={"secret": True})
    seconds: float = Field(120.0, gt=0, description="Most seconds for one file.")


class VisionSettings(MediaModelSettings):
    """A model that describes pictures: /chat/completions with `image_url`."""


class SpeechSettings(MediaModelSettings):
    """A model that writes down what is said: /audio/transcriptions."""

    seconds: float = Field(600.0, gt=0, description="Most seconds for one file.")


class RerankSettings(SettingsSection):
    """A model that judges the best candidates once more."""

    turns_only: bool = Field(
        False,
        description="Rerank only for the turns of a conversation, not for plain searches.",
    )
    provider: Literal["none", "cross_encoder", "local", "http", "listwise", "judge"] = Field(
        "none",
        description=(
            "local: a model file on this machine, which judges as many hits as fit into"
            " `rerank.seconds`. cross_encoder: the same without a measured pace. http: a /rerank"
            " server. listwise: the chat model orders the hits. judge: the decision model of"
            " [judge]; if it fails, the chat model."
        ),
    )
    model: str = Field(
        "",
        description=(
            "local, cross_encoder: a folder or hub name (local, empty: ms-marco-MiniLM-L-6-v2)."
            " http: the model's name."
        ),
    )
    url: str = Field("", description="http: base URL of the /rerank server.")
    api_key: str = Field("", description="Key for that server.", json_schema_extra={"secret": True})
    candidates: int = Field(30, ge=1, description="Best hits that are reranked.")
    seconds: float = Field(
        1.0,
        gt=0,
        description=(
            "Most seconds for reranking. Hits that are not judged in time keep their score."
        ),
    )
    threshold: Share | None = Field(
        None,
        ge=0,
        le=1,
        description="Hits that are judged lower are dropped. None: nothing is dropped.",
    )
    weight: Share = Field(0.5, ge=0, le=1, description="Share of the judgement in the final score.")
