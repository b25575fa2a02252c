"""Why a search found what it found, for a person: an answer first, then a table, then how the question was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from engrams.surfaces.cli.output import clean, fit_line, paint, print_table, say

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

_REASONS: Mapping[str, str] = {
    "cos": "its meaning is near to the question",
    "cosctx": "what was said just before it is about that",
    "cosnext": "what was said right after it is about that",
    "bm": "it uses your words",
    "bmctx": "the turns just before it use your words",
    "bmses": "its conversation is about that",
    "speaker": "it was said by whom you ask about",
    "date": "it is from, or tells of, the time you ask about",
    "when": "it names a time, and you ask when",
    "slot": "it states the very thing you ask for",
    "fact": "a fact taken from it matches",
    "linked": "it is linked with something else that was found",
    "trigger": "your question names what it is a rule for",
    "rerank": "a second judgement found it relevant",
}
_ROLE_PHRASES: Mapping[str, str] = {"user": "you ask about yourself", "assistant": "you ask about what the assistant said"}
_PATHS: Mapping[str, str] = {
    "hybrid_weighted": "found by words and by meaning",
    "hybrid_sum": "found by words and by meaning",
    "hybrid_rrf": "found by ranks of words and of meaning",
    "token_recall": "found by words alone",
    "token_recall_after_embed_error": "found by words alone, since the embedder failed",
    "skipped_empty_store": "nothing is stored",
}
_LEAST, _SEEN, _MOST = 0.02, 0.005, 3
_PUNCTUATION = ".,;:!?¿¡…\"'()[]“”„‘’«»?!。、"


def print_explanation(found: Found) -> None:
    """Everything; the hits are told by their caller."""
    print_scores(found)
    print_question(found.trace)


def explain_hit(hit: Hit, found: Found) -> str:
    """What spoke for a hit most, in a sentence, with the words it shares with the question."""
    trace, said = found.trace, hit.parts
    best = sorted((name for name in _REASONS if said.get(name, 0.0) >= _LEAST), key=lambda name: -said[name])[:_MOST]
    words = ", ".join(f"“{word}”" for word in shared_words(trace.query, hit.record.search_text))
    told = [_explain_part(name, hit, trace) + (f": {words}" if name == "bm" and words else "") for name in best]
    if words and "bm" not in best:
        told.append(f"it shares {words} with the question")
    return "; ".join(told) if told and not found.abstain else "little speaks for it: it is the nearest there is"


def _explain_part(name: str, hit: Hit, trace: Trace) -> str:
    """A part of the score in words; who and when by name, where they are known."""
    if name == "speaker" and hit.record.speaker:
        return f"{hit.record.speaker} said it, {_describe_speaker(hit.record.speaker, trace.understood)}"
    times = trace.understood.get("times") or ()
    if name == "date" and times:
        return f"it is from, or tells of, the time you ask about ({', '.join(_describe_time(span) for span in times)})"
    return _REASONS[name]


def _describe_speaker(speaker: str, understood: Mapping[str, Any]) -> str:
    about = [str(name) for name in understood.get("about") or ()]
    if speaker in about or not (about or understood.get("role") in _ROLE_PHRASES):
        return "whom you ask about"
    if about:
        return f"and you ask about {' and '.join(about)}"
    return "who may be who asks" if understood["role"] == "user" else "the assistant, whom you ask about"


def _describe_time(span: Mapping[str, Any]) -> str:
    """A time in the question and the days it stands for, both included."""
    first, last = span["from"][:10], (datetime.fromisoformat(span["to"]) - timedelta(microseconds=1)).date().isoformat()
    return f"“{span['text']}”: {first}" + (f" to {last}" if last > first else "")


def shared_words(query: str, text: str) -> list[str]:
    """The words of a question that a text uses too, in whatever form, as the question has them."""
    from engrams.text.terms import terms

    return _matching_words(query, set(terms(text[:20_000])))


def _matching_words(query: str, wanted: set[str]) -> list[str]:
    """The words of a question with a term in ``wanted``; what is written without blanks, by its terms."""
    from engrams.text.terms import is_unspaced, terms

    counted = set(terms(query)) & wanted  # stop words only where the search counts them
    found: list[str] = []
    for word in query.split():
        bare = word.strip(_PUNCTUATION)
        some = [term for term in terms(bare) if term in counted] if bare else []
        found += some if is_unspaced(bare) else [bare] * bool(some)
    return list(dict.fromkeys(found))


def print_scores(found: Found) -> None:
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
        print_table(
            ["#", "score", *heads, "other", "memory"],
            [_score_cells(row, str(places.get(row.id, "")), heads) for row in chosen],
            {1: "green"},
        )
    if left:
        say(f"\nLeft out ({len(left)} of {len(rows)} looked at closely):")
        told = {row.id: f"“{fit_line(row.text, 20)}”" for row in rows} | {id: f"#{place}" for id, place in places.items()}
        shown = [[f"{row.score:.2f}", _drop_reason(row, told), row.text] for row in left[:_SHOWN]]
        print_table(["score", "why not", "memory"], shown, {1: "yellow"})
        if len(left) > _SHOWN:
            say(f"… and {len(left) - _SHOWN} more; --json shows all")


def _score_cells(row: TraceRow, place: str, heads: Sequence[str]) -> list[str]:
    groups = dict(_GROUPS)
    sums = {name: sum(row.parts.get(part, 0.0) for part in groups[name]) for name in heads}
    counted = {part for name in heads for part in groups[name]} | _ALONE
    other = sum(value for name, value in row.parts.items() if name not in counted)
    return [place, f"{row.score:.2f}", *(_format_score(sums[name]) for name in heads), _format_score(other), row.text]


def _format_score(value: float) -> str:
    return f"{value:+.2f}" if abs(value) >= _SEEN else "·"


def _drop_reason(row: TraceRow, told: Mapping[str, str]) -> str:
    """The reason, with the number or the words of a memory in place of its id."""
    return " ".join(told.get(word, word) for word in row.dropped.split(" "))


def print_question(trace: Trace) -> None:
    """How the question was read, which way it went, and how long each step took."""
    read = describe_question(trace.understood, trace.query)
    say(f"\nThe question was read so: {clean(read)}")
    if trace.stages:
        whole = sum(ms for _, ms, _ in trace.stages)
        steps = ", ".join(f"{name} {ms:.1f}" for name, ms, _ in trace.stages)
        looked = next((count for name, _, count in trace.stages if name == "candidates"), 0)
        say(f"{looked} memories were scored in {whole:.1f} ms ({steps}); {_PATHS.get(trace.path, trace.path)}")
    for line in trace.notes:
        say(f"{paint('Note:', 'yellow')} {clean(line)}")


def describe_question(understood: Mapping[str, Any], query: str) -> str:
    """What was understood, in words."""
    from engrams.text.terms import terms

    role = str(understood.get("role", ""))
    told = [_ROLE_PHRASES[role]] if role in _ROLE_PHRASES else []
    if about := understood.get("about"):
        told.append(f"about {' and '.join(map(str, about))}")
    told += [f"a time, {_describe_time(span)}" for span in understood.get("times") or ()]
    if understood.get("wants_time"):
        told.append("you want to know when")
    if understood.get("latest"):
        told.append("you want what holds now")
    if understood.get("past"):
        told.append("you want what held before")
    dense = str(understood.get("dense", ""))
    if dense and dense != query:
        told.append(f"its meaning is that of “{fit_line(dense, 80)}”")
    words = _matching_words(query, set(terms(str(understood.get("lexical", query)))))
    return "; ".join([*told, f"words {', '.join(words)}" if words else "no words to look for"])
