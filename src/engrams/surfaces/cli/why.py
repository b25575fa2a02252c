"""Why a search found what it found, for a person: an answer first, then a table, then how the question was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engrams.surfaces.cli.out import clean, fit, paint, say, table

if TYPE_CHECKING:
    from engrams.types import Found, Hit, Trace, TraceRow

_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("meaning", ("cos", "cosctx", "cosnext")),
    ("words", ("bm", "bmctx", "bmses")),
    ("who", ("speaker",)),
    ("when", ("date", "when")),
    ("asked", ("slot", "fact", "trigger")),
    ("links", ("linked",)),
)
_SHOWN = 10
_ALONE = frozenset({"rerank", "sub_sim"})
"""Figures that stand for themselves: they are in no sum."""

_SAID: Mapping[str, str] = {
    "cos": "it says something like what you ask",
    "cosctx": "what was said just before it is about that",
    "cosnext": "what was said right after it is about that",
    "bm": "it uses your words",
    "bmctx": "the turns just before it use your words",
    "bmses": "its conversation is about that",
    "speaker": "it was said by whom you ask about",
    "date": "it is from, or tells of, the time you ask about",
    "when": "it names a time, as you ask for one",
    "slot": "it states the very thing you ask for",
    "fact": "a fact taken from it matches",
    "linked": "it is linked with something else that was found",
    "trigger": "your question names what triggers it",
    "rerank": "a second judgement found it relevant",
}
_MEANT: Mapping[str, str] = {"user": "you ask about yourself", "assistant": "you ask about what the assistant said"}
_LEAST, _SEEN, _MOST = 0.02, 0.005, 3


def tell(found: Found) -> None:
    """Everything; the hits are told by their caller."""
    tell_table(found)
    tell_question(found.trace)


def reason(hit: Hit, query: str) -> str:
    """What spoke for a hit most, in a sentence, with the words it shares with the question."""
    sums = {name: value for name, value in hit.parts.items() if value >= _LEAST and name in _SAID}
    best = sorted(sums, key=lambda name: -sums[name])[:_MOST]
    told = "; ".join(_SAID[name] for name in best) or "little speaks for it: it is the nearest there is"
    words = shared(query, hit.record.search_text)
    return told + (f" ({', '.join(words)})" if words else "")


def shared(query: str, text: str) -> list[str]:
    """The words of a question that a text uses too, in whatever form, as the question has them."""
    from engrams.text.terms import terms

    said = set(terms(text[:20_000]))
    return list(dict.fromkeys(word for word in query.replace("?", " ").split() if said & set(terms(word)) and _tells(word, query)))


def _tells(word: str, query: str) -> bool:
    """Whether the search counts the word: stop words it drops, unless there is nothing else."""
    from engrams.text.terms import terms

    return bool(set(terms(word)) & set(terms(query)))


def tell_table(found: Found) -> None:
    """How the score of each memory adds up, those that were left out with the reason."""
    rows = found.trace.rows
    if not rows:
        return
    heads = [
        name
        for name, parts in _GROUPS
        if any(abs(row.parts.get(part, 0.0)) >= _SEEN for row in rows[: len(found.hits) + _SHOWN] for part in parts)
    ]
    places = {hit.record.id: place for place, hit in enumerate(found.hits, 1)}
    chosen, left = [row for row in rows if not row.dropped], [row for row in rows if row.dropped]
    if chosen:
        say("\nHow the scores add up:")
        table(["#", "score", *heads, "other", "memory"], [_cells(row, str(places.get(row.id, "")), heads) for row in chosen], {1: "green"})
    if left:
        say(f"\nLeft out ({len(left)} of {len(rows)} looked at closely):")
        told = {row.id: f"“{fit(row.text, 20)}”" for row in rows} | {id: f"#{place}" for id, place in places.items()}
        shown = [[f"{row.score:.2f}", _dropped(row, told), row.text] for row in left[:_SHOWN]]
        table(["score", "why not", "memory"], shown, {1: "yellow"})
        if len(left) > _SHOWN:
            say(f"… and {len(left) - _SHOWN} more; --json shows all")


def _cells(row: TraceRow, place: str, heads: Sequence[str]) -> list[str]:
    groups = dict(_GROUPS)
    sums = {name: sum(row.parts.get(part, 0.0) for part in groups[name]) for name in heads}
    counted = {part for name in heads for part in groups[name]} | _ALONE
    other = sum(value for name, value in row.parts.items() if name not in counted)
    return [place, f"{row.score:.2f}", *(_figure(sums[name]) for name in heads), _figure(other), row.text]


def _figure(value: float) -> str:
    return f"{value:+.2f}" if abs(value) >= _SEEN else "·"


def _dropped(row: TraceRow, told: Mapping[str, str]) -> str:
    """The reason, with the number or the words of a memory in place of its id."""
    return " ".join(told.get(word, word) for word in row.dropped.split(" "))


def tell_question(trace: Trace) -> None:
    """How the question was read, which way it went, and how long each step took."""
    read = question(trace.understood, trace.query)
    say(f"\nThe question was read so: {clean(read)}")
    if trace.stages:
        whole = sum(ms for _, ms, _ in trace.stages)
        steps = ", ".join(f"{name} {ms:.1f}" for name, ms, _ in trace.stages)
        looked = next((count for name, _, count in trace.stages if name == "candidates"), 0)
        say(f"{looked} memories were scored in {whole:.1f} ms ({steps}); path: {trace.path}")
    for line in trace.notes:
        say(f"{paint('Note:', 'yellow')} {clean(line)}")


def question(understood: Mapping[str, Any], query: str) -> str:
    """What was understood, in words."""
    from engrams.text.terms import terms

    role = str(understood.get("role", ""))
    told = [_MEANT[role]] if role in _MEANT else []
    if about := understood.get("about"):
        told.append(f"about {' and '.join(map(str, about))}")
    if times := understood.get("times"):
        told.append("time " + ", ".join(f"{span['text']!r} ({span['from'][:10]} to {span['to'][:10]})" for span in times))
    if understood.get("wants_time"):
        told.append("a time is wanted")
    if understood.get("latest"):
        told.append("what holds now")
    if understood.get("past"):
        told.append("what held before")
    dense = str(understood.get("dense", ""))
    if dense and dense != query:
        told.append(f"meant as {fit(dense, 80)!r}")
    words = list(dict.fromkeys(terms(str(understood.get("lexical", query)))))
    return "; ".join([*told, f"words {', '.join(words)}" if words else "no words to look for"])
