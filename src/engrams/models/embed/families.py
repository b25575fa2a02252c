"""Facts about embedding models, found by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Literal, TypeAlias

from engrams.frozen_data import dataclass
from engrams.models.embed.cosine_scales import load_scale
from engrams.ports import EmbedderCard

Purpose: TypeAlias = Literal["query", "document"]
Pooling: TypeAlias = Literal["mean", "cls", "last"]

# The dimension of a model that tells it with its first answer. Not 0, which says that there are no
# vectors.
UNKNOWN = -1

# Measured on 2,760 turns of chats between two friends and 759 questions about them. duplicate: 99 %
# of the copies with other case, punctuation or contractions lie above; 99 % of the turns' nearest
# other turns lie 0.06 below or more. related: 95 % of random pairs of turns lie below.
MINILM_FLOORS: Mapping[str, float] = {"duplicate": 0.92, "related": 0.5}
BUILTIN_FLOORS: Mapping[str, float] = {"duplicate": 0.93, "related": 0.53, "near": 0.24}


_PASSAGES = "Represent this sentence for searching relevant passages: "
_CHINESE = "为这个句子生成表示以用于检索相关文章："
_INSTRUCT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)

_MINILM = "all-MiniLM-L6-v2"
_BGE = "bge-large-en-v1.5"
_OPENAI = "text-embedding-3-small"


@dataclass(frozen=True, slots=True)
class EmbeddingModelFamily:
    """Facts about a family of embedding models."""

    name: str
    """Pattern of the models' names, in lower case."""
    query: str = ""
    """Text that the models want before a query."""
    document: str = ""
    """Text that the models want before a document."""
    dimension: int = 0
    """0: it is not known."""
    pooling: Pooling = "mean"
    floors: Mapping[str, float] = field(default_factory=dict)
    """Name of a floor -> smallest cosine that passes it."""
    scale: str = ""
    """Name of the scale of the models' cosines. Empty: it is not known."""
    is_english: bool = False
    """The models were trained on English alone."""


# From the models' own documentation. The first that matches counts.
_FAMILIES = (
    EmbeddingModelFamily(
        r"all-minilm-l6", dimension=384, floors=MINILM_FLOORS, scale=_MINILM, is_english=True
    ),
    EmbeddingModelFamily(r"all-minilm", dimension=384, is_english=True),
    EmbeddingModelFamily(r"all-mpnet-base", dimension=768, is_english=True),
    EmbeddingModelFamily(r"bge-m3", dimension=1024, pooling="cls"),
    EmbeddingModelFamily(r"bge-small.*zh", query=_CHINESE, dimension=512, pooling="cls"),
    EmbeddingModelFamily(r"bge-base.*zh", query=_CHINESE, dimension=768, pooling="cls"),
    EmbeddingModelFamily(r"bge-large.*zh", query=_CHINESE, dimension=1024, pooling="cls"),
    EmbeddingModelFamily(
        r"bge-small",
        query=_PASSAGES,
        dimension=384,
        pooling="cls",
        scale=_BGE,
        is_english=True,
    ),
    EmbeddingModelFamily(
        r"bge-base",
        query=_PASSAGES,
        dimension=768,
        pooling="cls",
        scale=_BGE,
        is_english=True,
    ),
    EmbeddingModelFamily(
        r"bge-large",
        query=_PASSAGES,
        dimension=1024,
        pooling="cls",
        scale=_BGE,
        is_english=True,
    ),
    EmbeddingModelFamily(r"mxbai-embed-large", query=_PASSAGES, dimension=1024, pooling="cls"),
    EmbeddingModelFamily(
        r"arctic-embed.*v2|arctic-embed2", query="query: ", dimension=0, pooling="cls"
    ),
    EmbeddingModelFamily(r"arctic-embed", query=_PASSAGES, dimension=0, pooling="cls"),
    EmbeddingModelFamily(r"e5-.*instruct", query=_INSTRUCT.replace("Query:", "Query: ")),
    EmbeddingModelFamily(r"\be5-small", query="query: ", document="passage: ", dimension=384),
    EmbeddingModelFamily(r"\be5-base", query="query: ", document="passage: ", dimension=768),
    EmbeddingModelFamily(r"\be5-large", query="query: ", document="passage: ", dimension=1024),
    EmbeddingModelFamily(r"gte-(?:base|large|multilingual).*v1\.5|gte-multilingual", pooling="cls"),
    EmbeddingModelFamily(r"gte-small", dimension=384),
    EmbeddingModelFamily(r"gte-base", dimension=768),
    EmbeddingModelFamily(r"gte-large", dimension=1024),
    EmbeddingModelFamily(
        r"nomic-embed-text", query="search_query: ", document="search_document: ", dimension=768
    ),
    EmbeddingModelFamily(
        r"embeddinggemma",
        query="task: search result | query: ",
        document="title: none | text: ",
        dimension=768,
    ),
    EmbeddingModelFamily(r"qwen3-embedding", query=_INSTRUCT, pooling="last"),
    EmbeddingModelFamily(r"text-embedding-3-large", dimension=3072),
    EmbeddingModelFamily(r"text-embedding-3-small", dimension=1536, scale=_OPENAI),
    EmbeddingModelFamily(r"text-embedding-ada-002", dimension=1536),
)


def find_family(model: str) -> EmbeddingModelFamily:
    """Find the family of a model; an empty one where unknown."""
    name = model.lower().replace("_", "-")
    return next(
        (entry for entry in _FAMILIES if re.search(entry.name, name)), EmbeddingModelFamily("")
    )


def make_card(
    id: str, model: str, *, dimension: int = 0, query_prefix: str | None = None
) -> EmbedderCard:
    """Make the card (dimension, prefixes, floors, scale) of a model by name.

    ``dimension``: where the caller knows it; a shortened vector keeps no floors and no scale.
    ``query_prefix``: None takes the model's own, empty means none.
    """
    entry = find_family(model)
    is_full_dimension = dimension in (0, entry.dimension)
    return EmbedderCard(
        id,
        dimension or entry.dimension or UNKNOWN,
        query_prefix=entry.query if query_prefix is None else query_prefix,
        document_prefix=entry.document,
        floors=entry.floors if is_full_dimension else {},
        scale=load_scale(entry.scale) if is_full_dimension else (),
        is_english=entry.is_english,
    )


def with_dimension(of: EmbedderCard, dimension: int) -> EmbedderCard:
    """Copy a card with the model's real dimension."""
    return replace(of, dimension=dimension)


def add_prefixes(of: EmbedderCard, texts: Sequence[str], purpose: Purpose) -> list[str]:
    """Put the purpose's prefix before each text that is not blank."""
    prefix = of.query_prefix if purpose == "query" else of.document_prefix
    return [prefix + text if text.strip() else "" for text in texts]
