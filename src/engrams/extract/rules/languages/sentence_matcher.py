"""Matcher of sentence forms in German, Spanish, French, Chinese and Japanese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from engrams.core import Kind
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import PEOPLE, is_single
from engrams.extract.rules import clause_dates
from engrams.extract.rules.clause_quote import collapse_space
from engrams.extract.rules.clause_times import find_clause_spans
from engrams.extract.rules.languages.language_table import (
    CODES,
    LanguageTable,
    SentencePattern,
    load_language,
)
from engrams.extract.rules.languages.other_words import find_others
from engrams.extract.rules.languages.unsettled import find_clause, is_unsettled
from engrams.extract.rules.loose_clauses import opens_with_other
from engrams.extract.rules.named_people import RELATIVES
from engrams.extract.rules.sentence_segmenter import split_sentences
from engrams.extract.rules.utterance import FAINT, UtteranceContext
from engrams.frozen_data import replace
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP
from engrams.text.vocabulary import word_pattern, word_set

_STOP = re.compile(
    (
        r"(?:(?<!\s)\s*+[,;:，；、]|(?<!\s)\s++(?:(?:und|aber|weil|denn|seit|mit"
        r" meine[rmn]?|y|pero|porque|desde|con mi|et|mais"
        r"|parce|depuis|avec"
        r" m\w+)\s|(?:jetzt|schon|ahora|ya|maintenant|aussi|auch|también)\b)).*$|(?<![了啊呢吧哦])[了啊呢吧哦]++$"
    ),
    re.IGNORECASE | re.DOTALL,
)
_AND = re.compile(
    r"(?:(?<!\s)\s++)?(?:[,;，"
    r"；]|\b(?:und|y|et)\b)\s*+(?=(?:ich|mein\w*|me|mi|vivo|trabajo|tengo|soy|hablo|je|j'|mon|ma)\b)|[，"
    r"；]\s*+(?=我)|，"
)
# "Hauptstr. 5, 34117 Kassel" is one address.
_AND_SO_ON = re.compile(
    r"(?:;|,? (?:und|aber|weil|denn|y|pero|porque|et|mais|parce)\s).*$", re.IGNORECASE | re.DOTALL
)
_PERSON = re.compile(r"[我俺你您他她它咱这那谁]")
_OF_RELATIVE = re.compile(
    rf"[我俺]们?(?:的|家的?)?.?(?:{'|'.join(word for word in RELATIVES if not word.isascii())}|[侄叔姨舅姑孙婶])"
)
"""Sentence about somebody else: 我妈妈今年71岁，住在苏州."""
_HAN = re.compile("[\u4e00-\u9fff]")
_LIKES = "likes"
_LONGEST_NAME = 4
"""Characters of the longest Chinese name."""
_ARTICLE = re.compile(
    r"^(?:(?:der|die|das|den|ein|eine|einen|el|la|los|las|un|una|le|les|une|du|des|de"
    r" la)\s+|l['’]|的)",
    re.IGNORECASE,
)


_DANGLING = re.compile(
    r"(?:\s+(?:im|am|an|in|um|seit|ab|vom|en|el|desde|de|del|à|au|le|du|depuis))+$", re.IGNORECASE
)
"""Prepositions whose time was taken out: "nach Köln im"."""
_UNSPACED = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_MOST_OPENING = 2000
"""Characters of a text among which a first person is looked for."""
_WORD = re.compile(r"\w+")
# Every cue begins with one of these words, or with "me" before one of those: looking for them is
# cheaper than matching.
_LEADS = word_set("""
    ich mein meine meinen meiner wir je j mon ma mes dejado decidido
    vivo trabajo mi tengo odio hablo soy estudio adoro yo fui fuimos viajé viajamos compré nos dejé estoy peso mido
    soporto aguanto trago como bebo
    """)
_NO_EMPLOYERS = word_set("ello eso esto casa moi lui elle eux mir ihm uns hause")
_IN_TOWN = re.compile(r"\b(?:in|bei|à|en|a|au|aux) (?P<town>[^\W\d_].*)")
_OF_LISTENER = word_set("""
    dein deine deinen deinem deiner euer eure euren tu tus vuestro vuestra ton ta tes votre vos
    """)
_AFTER_ME = ("llamo", "mud", "gust", "encant", "cas")
_ENGLISH_HYPOTHETICAL = re.compile(
    r"\b(?:maybe|perhaps|probably|might|could|should|if|unless|wish|would|hope|imagine|suppose|almost|nearly)\b",
    re.IGNORECASE,
)


def extract_foreign(text: str, speech: UtteranceContext) -> list[CandidateStatement]:
    """Extract statements in German, Spanish, French, Chinese or Japanese.

    None where the first 2,000 characters hold no first person of these languages.
    """
    opening = text[:_MOST_OPENING]
    if not _may_speak(opening):
        return []
    tables = [table for table in map(load_language, CODES) if table and table.cue.search(opening)]
    if not tables:
        return []
    found: list[CandidateStatement] = []
    others = find_others(text)
    for piece, start, mine, sentence in _split_pieces(text):
        for language in tables:
            # Chinese names its subject once: 我叫李明，今年30岁，住在上海.
            # "我养了一只猫，叫南瓜" names the cat.
            whole = (
                f"我{piece}"
                if language.code == "zh" and mine and not _PERSON.search(piece) and piece[0] != "叫"
                else piece
            )
            if language.hypothetical.search(piece) or opens_with_other(piece):
                continue
            is_faint = language.faint.search(sentence) is not None
            match = (_find_faint_liking(whole, language) if is_faint else None) or _find_form(
                whole, language
            )
            if match is None:
                continue
            at = start + match[1].start() - len(whole) + len(piece)
            if any(begin <= at < end for begin, end in others) or _is_unsettled(
                match[0], text, max(at, start), language, speech.said_at
            ):
                break
            if candidate := _read_match(*match, (start, len(piece), text), language, speech):
                found.append(_weaken(candidate) if is_faint else candidate)
                break
    return found


def is_imagined(text: str, language: str) -> bool:
    """True for words of a wish, a condition or hearsay in a language of the tables."""
    table = load_language(language)
    pattern = table.hypothetical if table else _ENGLISH_HYPOTHETICAL
    return pattern.search(text) is not None


def _may_speak(text: str) -> bool:
    """False for a text without any word that cues begin with."""
    if not text.isascii() and _UNSPACED.search(text):
        return True
    words = set(_WORD.findall(text.lower()))
    return not words.isdisjoint(_LEADS) or (
        "me" in words and any(word.startswith(_AFTER_ME) for word in words)
    )


def _find_faint_liking(
    piece: str, language: LanguageTable
) -> tuple[SentencePattern, re.Match[str]] | None:
    """Find the form of a liking in a piece, without the words by which it is only implied."""
    match = _find_form(language.faint.sub("", piece), language)
    return match if match and match[0].predicate == _LIKES else None


def _weaken(candidate: CandidateStatement) -> CandidateStatement:
    """Lower the confidence in a liking that is only implied."""
    is_liking = candidate.kind is Kind.PREFERENCE
    return replace(candidate, confidence=FAINT) if is_liking else candidate


def _split_pieces(text: str) -> Iterator[tuple[str, int, bool, str]]:
    """Yield pieces of asserted sentences: text, start, whether 我 is its subject, and the sentence."""
    for sentence in split_sentences(text):
        if (
            sentence.modality != "asserted"
            or sentence.is_question
            or sentence.text.rstrip().endswith(("吗", "嗎", "呢", "か"))
        ):
            continue
        is_mine = sentence.text.startswith(("我", "俺")) and not _OF_RELATIVE.match(sentence.text)
        at = 0
        for cut in [*_AND.finditer(sentence.text), None]:
            end = cut.start() if cut else len(sentence.text)
            if sentence.text[at:end].strip():
                yield (
                    sentence.text[at:end],
                    sentence.start + at,
                    at > 0 and is_mine,
                    sentence.text,
                )
            at = cut.end() if cut else end


def _find_form(piece: str, language: LanguageTable) -> tuple[SentencePattern, re.Match[str]] | None:
    return next(
        ((form, match) for form in language.forms if (match := form.find.search(piece))),
        None,
    )


def _is_unsettled(
    form: SentencePattern, text: str, at: int, language: LanguageTable, said: datetime
) -> bool:
    clause = find_clause(text, at, language.cue)
    return form.polarity and is_unsettled(language, form, clause, said)


def _read_match(
    form: SentencePattern,
    match: re.Match[str],
    place: tuple[int, int, str],
    language: LanguageTable,
    speech: UtteranceContext,
) -> CandidateStatement | None:
    groups = match.groupdict()
    raw = groups.get("o") or groups.get("n") or ""
    whole = (
        form.predicate == "attribute"
        and language.properties[(groups.get("f") or "").lower()] == "address"
    )
    value = _clean_value(_AND_SO_ON.sub("", raw) if whole else _STOP.sub("", raw))
    if not value and form.effect != "ends" and "o" in groups:
        return None
    if form.predicate == "attribute" and not _names_person(groups, value, language):
        return None
    if value and form.predicate == "lives_in":
        value = _find_town(value)
        if not value:
            return None
    if value and _is_turn_of_phrase(form.predicate, value):
        return None
    return _to_candidate(form, groups, value, place, language, speech)


def _find_town(value: str) -> str:
    """Find where somebody lives behind how they live: "einer WG in Leipzig"; empty: nowhere."""
    way = word_pattern(__file__, "ways_of_living").match(fold(value))
    if way is None:
        return value
    town = _IN_TOWN.search(value, way.end())
    return _clean_value(town["town"]) if town else ""


def _is_turn_of_phrase(predicate: str, value: str) -> bool:
    """True for what no such thing begins with: "je m'appelle un taxi", "trabajo en ello"."""
    first_word = value.split(maxsplit=1)[0].lower()
    match predicate:
        case "is_named" | "studies":
            return first_word in STOP
        case "works_at":
            return first_word.lower() in _NO_EMPLOYERS
        case "likes":
            return first_word.lower() in _OF_LISTENER
        case _:
            return False


def _names_person(groups: dict[str, str | None], value: str, language: LanguageTable) -> bool:
    """False for what a person is and not what they are called: 我的上司是院长."""
    if language.properties[(groups.get("f") or "").lower()] not in PEOPLE:
        return True
    if _HAN.match(value):
        return len(value) <= _LONGEST_NAME and value[-1] not in "长师员生家理工总警的人"
    return value[:1].isupper()


def _clean_value(raw: str) -> str:
    return raw.strip(" .!？?。！'\"“”「」")


def _to_candidate(
    form: SentencePattern,
    groups: dict[str, str | None],
    value: str,
    place: tuple[int, int, str],
    language: LanguageTable,
    speech: UtteranceContext,
) -> CandidateStatement | None:
    start, length, text = place
    subject = speech.subject
    relative = groups.get("r")
    if relative:
        subject = f"{speech.subject}'s {RELATIVES[relative.lower()]}"
    predicate = form.predicate
    thing = (groups.get("f") or "").lower()
    if predicate == "favorite":
        predicate = f"favorite_{language.favorites.get(thing, thing)}".replace(" ", "_")
    elif predicate == "attribute":
        predicate = language.properties[thing]
    quote = text[start : start + length].strip(" ,，.。!！")
    times = find_clause_spans(quote, (0, len(quote)), speech.local_time, "", "")
    when = clause_dates.pick_most_exact(times)
    begun = _resolve_start(
        form, when.start if when and when.start <= speech.said_at else None, speech.said_at
    )
    for span in times if form.predicate != "attribute" else ():
        value = _DANGLING.sub("", " ".join(value.replace(span.text, " ").split()))
    if not value and form.effect != "ends" and groups.get("o"):
        # Only a time was named: "今日は食べません".
        return None
    is_liking = predicate == _LIKES or predicate.startswith("favorite_")
    settled = min(when.end, speech.said_at) if when and begun == when.start else speech.said_at
    return speech.make_statement(
        quote,
        text=collapse_space(quote),
        kind=Kind.PREFERENCE if is_liking else Kind.FACT,
        subject=subject,
        predicate=predicate,
        object=_ARTICLE.sub("", value).strip(),
        category=form.category,
        polarity=form.polarity,
        effect=form.effect,
        single=is_single(predicate),
        valid_from=begun,
        effective_at=settled,
        reason=f"rule {language.code}",
    )


def _resolve_start(
    form: SentencePattern, dated: datetime | None, said: datetime
) -> datetime | None:
    if form.effect == "states":
        return dated if form.category == "event" else None
    return dated or said
