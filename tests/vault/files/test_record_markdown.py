"""Memories as files, and back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engrams.core import (
    LAYER_OF,
    Edge,
    EdgeType,
    Evidence,
    Kind,
    Layer,
    Provenance,
    Record,
    Scope,
    Status,
    Tier,
)
from engrams.vault.files import front_matter, record_links, record_markdown
from engrams.vault.files.front_matter import FrontMatterError

START = datetime(2026, 3, 2, 9, 15, tzinfo=UTC)
NASTY = [
    *[
        "---",
        "---\n",
        "\n---\n",
        "a\r\nb",
        "\r",
        "a\r",
        " x ",
        "\n\n",
        "",
        "# no comment",
        "yes",
        "null",
        "1",
        "1.0",
        "2026-03-02",
    ],
    *[
        "\u2028",
        "\x85",
        "\ufeff",
        "\ufffe",
        "- a",
        "a: b",
        "{",
        "[[x|y]]",
        "'",
        '"',
        "\\",
        "%",
        "!!binary",
        "&a",
        "*a",
        "|",
        ">",
    ],
    *["\t", "\x07", "🙂", "שלום", "日本語", "e\u0301", "? x", "=", "<<"],
]

texts = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40),
)
names = texts.filter(lambda text: bool(text.strip()))
times = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
shares = st.floats(0, 1)
json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**18), 10**18),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)


def labels(text: str) -> bool:
    try:
        Scope((text,))
    except Exception:
        return False
    return True


def lists_of(inner: Any) -> Any:
    return st.lists(inner, max_size=3).map(tuple)


records = st.builds(
    Record,
    id=names,
    scope=st.lists(names.filter(labels), min_size=1, max_size=4).map(
        lambda parts: Scope(tuple(parts))
    ),
    kind=st.sampled_from(Kind),
    text=texts,
    recorded_at=times,
    layer=st.sampled_from(Layer),
    tier=st.sampled_from(Tier),
    status=st.sampled_from([status for status in Status if status is not Status.PURGED]),
    role=texts,
    speaker=texts,
    session=texts,
    external_id=texts,
    caption=texts,
    valid_from=st.none() | times,
    valid_to=st.none() | times,
    retired_at=st.none() | times,
    ended_at=st.none() | times,
    subject=texts,
    predicate=texts,
    object=texts,
    category=texts,
    tags=lists_of(texts),
    triggers=lists_of(texts),
    steps=lists_of(texts),
    evidence=lists_of(st.builds(Evidence, texts, texts, texts)),
    provenance=st.builds(Provenance, texts, texts, texts, texts, lists_of(texts)),
    importance=shares,
    confidence=shares,
    trust=shares,
    strength=st.integers(0, 10**9),
    access_count=st.integers(0, 10**9),
    last_accessed=st.none() | times,
    superseded_by=texts,
    summary=texts,
    version=st.integers(1, 10**9),
    meta=st.dictionaries(texts, json_values, max_size=3),
)
links = st.lists(
    st.builds(
        record_links.RecordFileLink,
        st.sampled_from(EdgeType),
        names,
        st.floats(0, 1),
        st.integers(1, 99),
        st.sampled_from(["", "../a/b"]),
    ),
    max_size=4,
    unique_by=lambda link: (link.type, link.target),
).map(tuple)


def plain(**fields: Any) -> Record:
    defaults: dict[str, Any] = {
        "id": "01jq0000000000000000000001",
        "kind": Kind.FACT,
        "text": "Lives in Berlin.",
        "recorded_at": START,
        **fields,
    }
    return Record(
        scope=defaults.pop("scope", Scope(("user", "alice"))),
        layer=defaults.pop("layer", LAYER_OF[defaults["kind"]]),
        **defaults,
    )


def edges(content: record_markdown.RecordFileContent) -> set[tuple[str, str, float, int]]:
    return {(link.type, link.target, link.weight, link.count) for link in content.links}


@pytest.mark.covers("S2.15")
@settings(max_examples=100, deadline=None)
@given(records, links)
@example(plain(text="---\nid: stolen\n---\n"), ())
@example(plain(meta={"k" * 1500: "v", "a": {"b" * 1200: [1, 1.0, True, None]}}), ())
@example(plain(importance=1e-07, meta={"n": 1e22}), ())
@example(plain(scope=Scope(("user", "alice", "conversation", "c1"))), ())
@example(plain(scope=Scope(("user", "alice", "conversation", "c1")), session="c1"), ())
def test_any_record_comes_back_exactly(
    record: Record, told: tuple[record_links.RecordFileLink, ...]
) -> None:
    """Whatever a record and its links hold, its file gives the same back, and the body is the text
    and nothing else.
    """
    text = record_markdown.render_entry(record, told)
    content = record_markdown.parse_entry(text.encode().decode())
    assert content.to_record({}) == record
    assert edges(content) == {(link.type, link.target, link.weight, link.count) for link in told}
    assert text.endswith(f"---\n{record.text}\n")
    assert record_markdown.render_entry(record, told, text) == text


@settings(max_examples=150, deadline=None)
@given(records, records)
@pytest.mark.slow
def test_an_old_file_never_spoils_the_new_one(record: Record, other_record: Record) -> None:
    """Rendered over the file of anything else, a record still comes back exactly, and what its
    owner added stays.
    """
    old = record_markdown.render_entry(other_record, ())
    head, body = front_matter.split(old)
    assert head is not None
    old = front_matter.join("# mine\n" + head + "mood: happy  # still\nlist:\n- a\n- b\n", body)
    text = record_markdown.render_entry(record, (), old)
    assert record_markdown.parse_entry(text).to_record({}) == record
    values = front_matter.load(front_matter.split(text)[0] or "")
    assert (values["mood"], values["list"]) == ("happy", ["a", "b"])


@pytest.mark.covers("S2.15")
def test_front_matter_reads_well() -> None:
    """A fact's file holds its id, time, conversation and source under plain names, in a fixed
    order, defaults left out.
    """
    fact = plain(
        session="c1",
        evidence=(Evidence("I live in Berlin", "t1"),),
        tags=("home",),
        valid_from=START,
    )
    links = [
        record_links.to_link(
            Edge(fact.scope, fact.id, "t1", EdgeType.DERIVED_FROM), "../turns/user/x__t1"
        )
    ]
    head, body = front_matter.split(record_markdown.render_entry(fact, links))
    assert body == "Lives in Berlin."
    values = yaml.safe_load(head or "")
    expected = (
        "id kind scope created_at role conversation_id source_id tags valid_from evidence"
        " derived_from aliases"
    )
    assert list(values) == expected.split()
    assert values["role"] == "memory"
    assert values["derived_from"] == ["[[../turns/user/x__t1|t1]]"]
    tombstone = plain(
        status=Status.FORGOTTEN, superseded_by="x2", kind=Kind.SUMMARY, category="daily"
    )
    values = yaml.safe_load(
        front_matter.split(record_markdown.render_entry(tombstone, ()))[0] or ""
    )
    assert (values["replaced_by"], values["status"], values["summary_kind"]) == (
        "x2",
        "forgotten",
        "daily",
    )


def test_comments_order_and_unknown_names_stay() -> None:
    """A change of one field changes its line alone:
    comments, own names, their order and their quotes are kept.
    """
    old = (
        "---\n# my notes\nmood: 'happy'   # today\nid: \"x1\"\nkind: fact\nscope:"
        " user/alice\ncreated_at: 2026-03-02T09:15:00+00:00\nrole: memory\ntags: [a,"
        " 'b']\nnested:\n  deep: 1\n\n# end\n---\nOld.\n"
    )
    record = record_markdown.parse_entry(old).to_record({})
    assert record.tags == ("a", "b")
    text = record_markdown.render_entry(replace(record, text="New.", importance=0.9), (), old)
    assert text == old.replace("tags: [a, 'b']\n", "tags: [a, 'b']\nimportance: 0.9\n").replace(
        "Old.", "New."
    )


def bomb() -> str:
    """A few lines whose aliases stand for a great many values."""
    lines = ["a: &a [1,1,1,1,1,1,1,1,1]"]
    for before, name in zip("abcde", "bcdef", strict=True):
        lines.append(f"{name}: &{name} [{','.join([f'*{before}'] * 8)}]")
    return "---\n" + "\n".join(lines) + "\n---\n"


BAD = [
    *[
        "---\nid: [\n---\nx\n",
        "---\nid: x\n",
        "---\n- a\n---\n",
        "---\nid: {}\n---\n",
        "---\nimportance: high\n---\n",
    ],
    *[
        "---\nkind: thing\n---\n",
        "---\ncreated_at: soon\n---\n",
        "---\na: &a [*a]\n---\n",
        "---\nmeta: !!set {a}\n---\n",
    ],
    *["---\nx: !!python/object:os.system {}\n---\n", bomb(), "---\n" + "[" * 5000 + "\n---\n"],
]


@pytest.mark.parametrize("bad", BAD)
def test_what_cannot_be_understood_says_why(bad: str) -> None:
    """Broken, wrong, self-containing or exploding front matter is an error with a reason, and runs
    nothing.
    """
    with pytest.raises(FrontMatterError) as caught:
        record_markdown.parse_entry(bad)
    assert str(caught.value)


def test_files_of_other_editors_are_read() -> None:
    """A byte order mark, Windows line ends, dates, numbers as tags and words like yes are read as
    what was meant.
    """
    content = record_markdown.parse_entry(
        "\ufeff---\r\nid: x\r\ntags: [2024, yes]\r\ncreated_at: 2026-03-02\r\n---\r\none\r\ntwo\r\n"
    )
    assert content.fields["text"] == "one\ntwo"
    assert content.fields["tags"] == ("2024", "yes")
    assert content.fields["recorded_at"] == datetime(2026, 3, 2, tzinfo=UTC)
    assert record_markdown.parse_entry("Just a note.\n").fields == {"text": "Just a note."}
    assert record_markdown.parse_entry("---\n---\n\n").fields == {"text": ""}
