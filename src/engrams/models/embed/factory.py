"""Build an embedding model from settings."""

from __future__ import annotations

from typing import assert_never

from engrams.core.clock import now
from engrams.errors import InputError, SettingsError
from engrams.models.embed.families import make_card
from engrams.models.embed.query_cache import QueryCachingEmbedder
from engrams.ports import Clock, Embedder, EmbedderCard
from engrams.settings import EmbedSettings


def choose_embedder(settings: EmbedSettings, clock: Clock = now) -> Embedder:
    """Build the configured model; loads and calls nothing.

    Queries are cached where a query costs more than a look-up. ``clock``: to understand a server's
    Retry-After date. SettingsError: a model's name or an address is missing or wrong.
    """
    match settings.provider:
        case "builtin":
            from engrams.models.embed.static import BuiltinEmbedder

            return BuiltinEmbedder(settings.query_prefix)
        case "null":
            from engrams.models.embed.null import NullEmbedder

            return NullEmbedder()
        case "onnx":
            from engrams.models.embed.onnx import OnnxEmbedder

            if not settings.model:
                raise SettingsError(
                    "`embed.model` is not set.",
                    hint="Name a folder with an ONNX model, or a model on the hub.",
                )
            return QueryCachingEmbedder(OnnxEmbedder(settings))
        case "openai":
            from engrams.models.embed.openai import connect as connect_openai

            if not settings.model and not settings.url:
                raise SettingsError(
                    "`embed.model` is not set.",
                    hint="Name the embedding model, for example text-embedding-3-small.",
                )
            return QueryCachingEmbedder(connect_openai(settings, clock))
        case "ollama":
            from engrams.models.embed.ollama import connect as connect_ollama

            if not settings.model:
                raise SettingsError(
                    "`embed.model` is not set.",
                    hint="Name the embedding model, for example nomic-embed-text.",
                )
            return QueryCachingEmbedder(connect_ollama(settings, clock))
        case _:
            assert_never(settings.provider)


def require_embedder(candidate: Embedder) -> Embedder:
    """Refuse an object that is no embedder. InputError says what one needs."""
    if not isinstance(getattr(candidate, "card", None), EmbedderCard) or not callable(
        getattr(candidate, "embed", None)
    ):
        raise InputError(
            f"{type(candidate).__name__} is not an embedder: it needs a `card` and a method `embed`.",
            hint=(
                "`card` is an engrams.ports.EmbedderCard(id, dimension); `embed(texts, purpose)`"
                " gives one unit vector a text."
            ),
        )
    return candidate


def name_card(settings: EmbedSettings) -> EmbedderCard:
    """Card of the configured model by its name; loads and calls nothing."""
    if settings.provider in ("builtin", "null"):
        return choose_embedder(settings).card
    return make_card(settings.model, settings.model, dimension=settings.dimension)


def make_plain() -> Embedder:
    """Build the built-in embedder that the change detector was trained with."""
    from engrams.models.embed.static import BuiltinEmbedder

    return BuiltinEmbedder()
