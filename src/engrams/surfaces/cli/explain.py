"""Explain a search: reasons, score table, and the parsed question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from engrams.surfaces.cli.output import clean, fit_line, paint, print_table, say

if TYPE_CHECKING:
    from engrams.core import Hit, SearchResult, SearchTraceRow, Trace

_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("meaning", ("cos", "cosctx", "cosnext")),
    ("words", ("bm", "bmctx", "bmses", "identifier")),
    ("who", ("speaker",)),
    ("when", ("date", "when")),
    ("asked", ("slot", "fact", "trigger")),
    ("links", ("linked", "current")),
)
_SHOWN = 10
_ALONE = frozenset({"rerank", "sub_sim"})
"""Figures outside the sum."""

_REASONS: Mapping[str, str] = {
    "cos": "its meaning is close to the question",
    "cosctx": "it and the messages just before it are about that",
    "cosnext": "the message right after it is about that",
    "bm": "it uses your words",
    "bmctx": "it and the messages just before it use your words",
    "bmses": "its conversation is about that",
    "speaker": "the person you ask about said it",
    "date": "it is from, or about, the time you ask about",
    "when": "it names a time, and you ask when",
    "slot": "it states exactly the asked fact",
    "fact": "a fact derived from it matches",
    "identifier": "it contains the number or code you ask for",
    "linked": "it is linked to another result",
    "current": "it is newer than a better match, which it replaces or may replace",
    "trigger": "your question names the trigger of this rule",
    "rerank": "the reranker found it relevant",
}
_ROLE_PHRASES: Mapping[str, str] = {
    "user": "you ask about yourself",
    "assistant": "you ask about what the assistant said",
}
_PATHS: Mapping[str, str] = {
    "hybrid_weighted": "found by words and by meaning",
    "hybrid_sum": "found by words and by meaning",
    "hybrid_rrf": "found by ranks of words and meaning",
    "token_recall": "found by words alone",
    "token_recall_after_embed_error": "found by words alone, because the embedder failed",
    "skipped_empty_store": "nothing is stored",
}
_MIN_REASON = 0.02
"""Smallest part of a score that is named as a reason."""
_VISIBLE = 0.005
"""Smallest value that is not rounded to zero in a table."""
_MAX_REASONS = 3
_PUNCTUATION = ".,;:!?¿¡…\"'()[]“”„‘’«»?!。、"


def print_explanation(result: SearchResult) -> None:
    """Print the score table and the parsed question."""
    print_scores(result)
    print_question(result.trace)


def explain_hit(hit: Hit, result: SearchResult) -> str:
    """Explain a hit in a sentence, with the shared words."""
    trace = result.trace
    parts = hit.parts
    strongest = sorted(
        (name for name in _REASONS if parts.get(name, 0.0) >= _MIN_REASON),
        key=lambda name: -parts[name],
    )[:_MAX_REASONS]
    words = ", ".join(f"“{word}”" for word in shared_words(trace.query, hit.record.search_text))
    reasons = [
        _explain_part(name, hit, trace) + (f": {words}" if name == "bm" and words else "")
        for name in strongest
    ]
    if words and "bm" not in strongest:
        reasons.append(f"it shares {words} with the question")
    return (
        "; ".join(reasons)
        if reasons and not result.abstain
        else "a weak match: no memory is closer"
    )


def explain_probability(hit: Hit, trace: Trace) -> str:
    """Tell how probably a hit helps, what speaks for it, and whether prompts get it."""
    reasons = next((row.reasons for row in trace.rows if row.id == hit.record.id), ())
    probability = f"{hit.probability or 0.0:.0%} probable"
    use = "" if hit.helps else "; not added to prompts"
    return f"{probability}{': ' if reasons else ''}{', '.join(reasons)}{use}"


def _explain_part(name: str, hit: Hit, trace: Trace) -> str:
    """Describe a part of the score, with names and times."""
    if name == "speaker" and hit.record.speaker:
        return (
            f"{hit.record.speaker} said it,"
            f" {_describe_speaker(hit.record.speaker, trace.understood)}"
        )
    times = trace.understood.get("times") or ()
    if name == "date" and times:
        return (
            "it is from, or about, the time you ask about"
            f" ({', '.join(_describe_time(span) for span in times)})"
        )
    return _REASONS[name]


def _describe_speaker(speaker: str, understood: Mapping[str, Any]) -> str:
    about = [str(name) for name in understood.get("about") or ()]
    if speaker in about or not (about or understood.get("role") in _ROLE_PHRASES):
        return "whom you ask about"
    if about:
        return f"and you ask about {' and '.join(about)}"
    return (
        "who may be who asks"
        if understood["role"] == "user"
        else "the assistant, whom you ask about"
    )


def _describe_time(span: Mapping[str, Any]) -> str:
    """Describe a time in the question with its days, inclusive."""
    first = span["from"][:10]
    last = (datetime.fromisoformat(span["to"]) - timedelta(microseconds=1)).date().isoformat()
    return f"“{span['text']}”: {first}" + (f" to {last}" if last > first else "")


def shared_words(query: str, text: str) -> list[str]:
    """List the question's words that the text shares in any form."""
    from engrams.text.terms import terms

    return _matching_words(query, set(terms(text[:20_000])))


def _matching_words(query: str, wanted_terms: set[str]) -> list[str]:
    """List the question's words with a term in ``wanted_terms``."""
    from engrams.text.terms import is_unspaced, terms

    counted_terms = set(terms(query)) & wanted_terms  # stop words only if the search counts them
    words: list[str] = []
    for word in query.split():
        bare = word.strip(_PUNCTUATION)
        matching_terms = [term for term in terms(bare) if term in counted_terms] if bare else []
        words += matching_terms if is_unspaced(bare) else [bare] * bool(matching_terms)
    return list(dict.fromkeys(words))


def print_scores(result: SearchResult) -> None:
    """Print how scores add up, and why memories were dropped."""
    rows = result.trace.rows
    if not rows:
        return
    heads = [
        name
        for name, parts in _GROUPS
        if any(
            abs(row.parts.get(part, 0.0)) >= _VISIBLE
            for row in rows[: len(result.hits) + _SHOWN]
            for part in parts
        )
    ]
    ranks = {hit.record.id: rank for rank, hit in enumerate(result.hits, 1)}
    chosen = [row for row in rows if not row.dropped]
    dropped_rows = [row for row in rows if row.dropped]
    if chosen:
        say("\nHow the scores add up:")
        print_table(
            ["#", "score", *heads, "other", "memory"],
            [_score_cells(row, str(ranks.get(row.id, "")), heads) for row in chosen],
            {1: "green"},
        )
    if dropped_rows:
        say(f"\nLeft out ({len(dropped_rows)} of {len(rows)} examined closely):")
        labels = {row.id: f"“{fit_line(row.text, 20)}”" for row in rows} | {
            id: f"#{rank}" for id, rank in ranks.items()
        }
        dropped_cells = [
            [f"{row.score:.2f}", _drop_reason(row, labels), row.text]
            for row in dropped_rows[:_SHOWN]
        ]
        print_table(["score", "reason", "memory"], dropped_cells, {1: "yellow"})
        if len(dropped_rows) > _SHOWN:
            say(f"… and {len(dropped_rows) - _SHOWN} more; --json shows all")


def _score_cells(row: SearchTraceRow, rank: str, heads: Sequence[str]) -> list[str]:
    groups = dict(_GROUPS)
    sums = {name: sum(row.parts.get(part, 0.0) for part in groups[name]) for name in heads}
    counted_parts = {part for name in heads for part in groups[name]} | _ALONE
    other_parts = sum(value for name, value in row.parts.items() if name not in counted_parts)
    return [
        rank,
        f"{row.score:.2f}",
        *(_format_score(sums[name]) for name in heads),
        _format_score(other_parts),
        row.text,
    ]


def _format_score(value: float) -> str:
    return f"{value:+.2f}" if abs(value) >= _VISIBLE else "·"


def _drop_reason(row: SearchTraceRow, labels: Mapping[str, str]) -> str:
    """Format why a candidate was dropped, with numbers instead of ids."""
    return " ".join(labels.get(word, word) for word in row.dropped.split(" "))


def print_question(trace: Trace) -> None:
    """Print the parsed question, the search path and step times."""
    description = describe_question(trace.understood, trace.query)
    say(f"\nThe question was understood as: {clean(description)}")
    if trace.stages:
        total_ms = sum(ms for _, ms, _ in trace.stages)
        steps = ", ".join(f"{name} {ms:.1f}" for name, ms, _ in trace.stages)
        scored = next((count for name, _, count in trace.stages if name == "candidates"), 0)
        say(
            f"{scored} memories were scored in {total_ms:.1f} ms ({steps});"
            f" {_PATHS.get(trace.path, trace.path)}"
        )
    for line in trace.notes:
        say(f"{paint('Note:', 'yellow')} {clean(line)}")


def describe_question(understood: Mapping[str, Any], query: str) -> str:
    """Describe the parsed question in words."""
    from engrams.text.terms import terms

    role = str(understood.get("role", ""))
    phrases = [_ROLE_PHRASES[role]] if role in _ROLE_PHRASES else []
    if about := understood.get("about"):
        phrases.append(f"about {' and '.join(map(str, about))}")
    phrases += [f"a time, {_describe_time(span)}" for span in understood.get("times") or ()]
    if understood.get("wants_time"):
        phrases.append("you want to know when")
    if understood.get("latest"):
        phrases.append("you want the current state")
    if understood.get("past"):
        phrases.append("you want an earlier state")
    dense = str(understood.get("dense", ""))
    if dense and dense != query:
        phrases.append(f"its meaning is that of “{fit_line(dense, 80)}”")
    words = _matching_words(query, set(terms(str(understood.get("lexical", query)))))
    return "; ".join([*phrases, f"words {', '.join(words)}" if words else "no words to search for"])
