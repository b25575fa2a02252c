"""Statements in German, Spanish, French and Chinese: a small table of sentence forms each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from engrams.types import Kind
from engrams.write.candidate import Candidate, Effect
from engrams.write.rules import dates
from engrams.write.rules.reading import Speech
from engrams.write.rules.segment import sentences
from engrams.write.rules.tongues import CUES, FAVORITES, FORMS, HYPOTHETICAL, PROPERTIES, RELATIVES, USERS
from engrams.write.slots import is_single

_STOP = re.compile(
    (
        r"\s*(?:[,;:，；、]|\s(?:und|aber|weil|denn|seit|mit meine[rmn]?|y|pero|porque|desde|con mi|et|mais|parce|depuis"
        r"|avec m\w+)\s|\s(?:jetzt|schon|ahora|ya|maintenant|aussi|auch|también)\b).*$|[了啊呢吧哦]+$"
    ),
    re.IGNORECASE | re.DOTALL,
)
_AND = re.compile(
    r"\s*(?:[,;，；]|\b(?:und|y|et)\b)\s*(?=(?:ich|mein\w*|me|mi|vivo|trabajo|tengo|soy|hablo|je|j'|mon|ma)\b)|[，；]\s*(?=我)|，"
)
_PERSON = re.compile(r"[我俺你您他她它咱这那谁]")
_ARTICLE = re.compile(r"^(?:(?:der|die|das|den|ein|eine|einen|el|la|los|las|un|una|le|les|une|du|des|de la)\s+|l['’]|的)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Form:
    """One sentence form: ``find`` has the groups ``o`` (object) and ``r`` (whose, for relatives); ``say``: how it reads."""

    find: re.Pattern[str]
    predicate: str
    category: str
    say: str
    effect: Effect = "states"
    polarity: bool = True


@cache
def _table(tongue: str) -> tuple[Form, ...]:
    """The forms of one language, compiled when a text of it first comes."""
    forms = []
    for predicate, category, pattern, say, *more in FORMS[tongue]:
        effect: Effect = "changes" if "changes" in more else "ends" if "ends" in more else "states"
        filled = pattern.replace("<rel>", f"(?P<r>{'|'.join(RELATIVES[tongue])})").replace("<prop>", f"(?P<f>{'|'.join(PROPERTIES)})")
        forms.append(Form(re.compile(filled, re.IGNORECASE), predicate, category, say, effect, "no" not in more))
    return tuple(forms)


_CUES = {tongue: re.compile(cue, re.IGNORECASE) for tongue, cue in CUES.items()}
_HYPOTHETICAL = {tongue: re.compile(pattern, re.IGNORECASE) for tongue, pattern in HYPOTHETICAL.items()}


def foreign(text: str, speech: Speech) -> list[Candidate]:
    """The statements of a text in one of the four languages; none where no first person of theirs occurs."""
    tongues = [tongue for tongue, cue in _CUES.items() if cue.search(text[:2000])]
    if not tongues:
        return []
    found: list[Candidate] = []
    for piece, start, mine in _pieces(text):
        for tongue in tongues:
            # Chinese names its subject once: 我叫李明，今年30岁，住在上海.
            whole = f"我{piece}" if tongue == "zh" and mine and not _PERSON.search(piece) else piece
            if not _HYPOTHETICAL[tongue].search(piece) and (candidate := _first(whole, (start, len(piece), text), tongue, speech)):
                found.append(candidate)
                break
    return found


def _pieces(text: str) -> Iterator[tuple[str, int, bool]]:
    """The pieces of every told sentence, where they begin, and whether the sentence began with the speaker."""
    for sentence in sentences(text):
        if sentence.modality != "asserted" or sentence.asked or sentence.text.rstrip().endswith(("吗", "嗎", "呢")):
            continue
        at = 0
        for cut in [*_AND.finditer(sentence.text), None]:
            end = cut.start() if cut else len(sentence.text)
            if sentence.text[at:end].strip():
                yield sentence.text[at:end], sentence.start + at, at > 0 and sentence.text[0] in "我俺"
            at = cut.end() if cut else end


def _first(piece: str, place: tuple[int, int, str], tongue: str, speech: Speech) -> Candidate | None:
    for form in _table(tongue):
        match = form.find.search(piece)
        if match is None:
            continue
        groups = match.groupdict()
        value = _value(groups.get("o") or groups.get("n") or "")
        if not value and form.effect != "ends" and "o" in groups:
            return None
        return _candidate(form, groups, value, place, tongue, speech)
    return None


def _value(raw: str) -> str:
    return _STOP.sub("", raw).strip(" .!？?。！'\"“”「」")


def _candidate(
    form: Form, groups: dict[str, str | None], value: str, place: tuple[int, int, str], tongue: str, speech: Speech
) -> Candidate:
    start, length, text = place
    name = USERS[tongue] if speech.speaker == "the user" else speech.speaker
    subject, shown = speech.subject, name
    relative = groups.get("r")
    if relative:
        subject = f"{speech.subject}'s {RELATIVES[tongue][relative.lower()]}"
        shown = {"de": f"{relative} von {name}", "es": f"{relative} de {name}", "fr": f"{relative} de {name}", "zh": f"{name}的{relative}"}[
            tongue
        ]
    predicate = form.predicate
    thing = (groups.get("f") or "").lower()
    if predicate == "favorite":
        predicate = f"favorite_{FAVORITES.get(thing, thing)}".replace(" ", "_")
    elif predicate == "attribute":
        predicate = PROPERTIES[thing]
    quote = text[start : start + length].strip(" ,，.。!！")
    times = dates.spans(quote, speech.said)
    when = dates.dated(times)
    begun = _begun(form, when.start if when and when.start <= speech.said else None, speech.said)
    for span in times if form.predicate != "attribute" else ():
        value = " ".join(value.replace(span.text, " ").split())
    told = form.say.format(s=shown, o=value, f=groups.get("f") or "")
    if when is not None and begun == when.start and form.category == "event":
        told = f"{told} ({when.start:%Y-%m-%d})"
    return Candidate(
        text=told[:1].upper() + told[1:],
        kind=Kind.PREFERENCE if predicate == "likes" or predicate.startswith("favorite_") else Kind.FACT,
        subject=subject,
        predicate=predicate,
        object=_ARTICLE.sub("", value).strip(),
        category=form.category,
        polarity=form.polarity,
        effect=form.effect,
        single=is_single(predicate),
        evidence=(speech.evidence(quote),),
        confidence=0.85,
        importance=0.7,
        trust=speech.trust,
        said_at=speech.said,
        valid_from=begun,
        settled=min(when.end, speech.said) if when and begun == when.start else speech.said,
        reason=f"rule {tongue}",
    )


def _begun(form: Form, dated: datetime | None, said: datetime) -> datetime | None:
    if form.effect == "states":
        return dated if form.category == "event" else None
    return dated or said
