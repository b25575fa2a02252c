"""Extraction by rules: facts, standing rules, procedures and corrections."""

from __future__ import annotations

from dataclasses import replace

from engrams.types import Kind
from engrams.write.candidate import Candidate
from engrams.write.rules.commands import extract_command, extract_procedure, parse_remember
from engrams.write.rules.corrections import extract_correction
from engrams.write.rules.english import extract_english
from engrams.write.rules.languages.match import extract_foreign
from engrams.write.rules.reading import UtteranceContext
from engrams.write.rules.segment import split_sentences

_MOST = 24


def extract_statements(text: str, speech: UtteranceContext) -> tuple[Candidate, ...]:
    """Extract the distinct statements of ``text`` in order, at most 24.
    Never raises for any text; under 1 ms for an ordinary turn."""
    request = parse_remember(text)
    if not any(char.isupper() for char in text):
        speech = replace(speech, is_lowercase=True)
    found: list[Candidate] = []
    if (steps := extract_procedure(text, speech)) is not None:
        found.append(steps)
    for sentence in split_sentences(text):
        if sentence.modality in ("asserted", "hypothetical") and not sentence.is_question:
            rule = extract_command(sentence, text, speech)
            if rule is None and sentence.modality == "asserted":
                rule = extract_correction(sentence, text, speech)
            if rule is not None:
                found.append(rule)
    covered = [item.quote for candidate in found for item in candidate.evidence]
    facts = extract_english(text, speech, request.at) + extract_foreign(text, speech)
    found += [fact for fact in facts if not any(fact.evidence[0].quote in quote for quote in covered)]
    if request.explicit:
        found = [replace(one, confidence=min(1.0, one.confidence + 0.1), importance=max(one.importance, 0.8)) for one in found]
        found = found or _build_verbatim(request.text, speech)
    return tuple({(one.key, one.predicate, one.object): one for one in found}.values())[:_MOST]


def is_explicit(text: str) -> bool:
    """True if the text asks for something to be remembered."""
    return parse_remember(text).explicit


def _build_verbatim(text: str, speech: UtteranceContext) -> list[Candidate]:
    """Keep an explicit request verbatim where no rule matches."""
    from engrams.write.rules.render import build_sentence, to_third_person

    line = text.strip().split("\n")[0].strip(" .!")
    if (
        len(line.split()) < 2
        or line.endswith("?")
        or line.lower().startswith(("to ", "me ", "when ", "how ", "what ", "the time", "my request"))
    ):
        return []
    words = to_third_person(line, 0, len(line), (), speech.speaker)
    evidence = (speech.evidence(line),)
    return [
        Candidate(
            text=build_sentence(words), kind=Kind.FACT, subject="", predicate="", object="", evidence=evidence, confidence=0.9,
            importance=0.8, trust=speech.trust, said_at=speech.said_at, effective_at=speech.said_at, reason="asked to remember",
        )
    ]  # fmt: skip
