"""Cues of a query: kind of answer, role, people, times.

``parse_query`` is the way in; ``QueryCues`` is what it makes. The words of each cue stand at the
head, in six languages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias

from engrams.core import Json
from engrams.frozen_data import dataclass
from engrams.read.cues import first_person, name_mentions
from engrams.read.cues.conversation_query import TAIL
from engrams.read.cues.name_mentions import Role
from engrams.text.late_patterns import late_alternatives, late_pattern
from engrams.text.normalize import fold
from engrams.text.times import TimeSpan, detect_language, find_times

QuestionKind: TypeAlias = Literal[
    "when", "who", "how_many", "where", "did", "said", "list", "other"
]

# Tried in this order on the folded query; the first match decides.
_KINDS: dict[QuestionKind, tuple[str, ...]] = {
    "how_many": (
        r"\bhow\s+(?:many|much|often|old|far|tall|big)\b|\bnumber\s+of\b",
        r"\bwie\s*(?:viele?|oft|alt)\b",
        r"\bcuant[oa]s?\b",
        r"\bcombien\b",
        r"多少|几(?:次|个|只|岁|天|本|种|年)",
        r"いくつ|何(?:回|人|個|匹|歳|冊|度|枚)",
    ),
    "when": (
        r"^\W*(?:and\s+|so\s+)?when\b|\bwhen\s+(?:did|does|do|is|was|were|are|has|have|had|will|would|should|can|could)\b",
        r"\b(?:what|which)\s+(?:year|month|day|date|time|week|season)\b|\bsince\s+when\b|\bhow\s+long\b",
        r"\bwann\b|\bwie\s+lange\b|\bwelche[mnrs]?\s+(?:jahr|monat|tag)\b",
        r"\bcuando\b|\bque\s+(?:dia|ano|mes)\b|\bcuanto\s+tiempo\b",
        r"\bquand\b|\bquel(?:le)?\s+(?:jour|annee|mois|date)\b|\bdepuis\s+quand\b",
        r"什么时候|什麼時候|何时|何時|哪[年天]|哪一[年天]|哪个月|几[号月点]|多久",
        r"いつ|何[年月日時](?!間)|何曜日",
    ),
    "where": (
        r"\bwhere\b|\b(?:what|which)\s+(?:city|country|place|town|state|location)\b",
        r"\bwo(?:her|hin)?\b",
        r"\b(?:a|de)?donde\b",
        r"(?:^|\bd')\W*ou\b|\bou\s+(?:est|sont|vit|habite|va|as|a|ai)\b",
        r"哪里|哪裡|哪儿|在哪",
        r"どこ",
    ),
    "who": (
        r"\b(?:who|whom|whose)\b",
        r"\bwe(?:r|m|n|ssen)\b",
        r"\bquien(?:es)?\b",
        r"(?:^|\b(?:avec|a|de|pour)\s)\W*qui\b",
        r"谁|誰",
        r"だれ",
    ),
    "said": (
        r"\b(?:say|said|says|tell|told|mention(?:ed)?|recommend(?:ed)?|suggest(?:ed)?|advi[cs]ed?|describe[ds]?|promise[ds]?|opinion)\b",
        r"\bthink\s+(?:about|of)\b",
        r"\b(?:gesagt|sagte|empfohlen|erzahlt|erwahnt|vorgeschlagen)\b",
        r"\b(?:dijo|dice|dijiste|recomend\w+|menciono|conto|sugiri\w+)\b",
        r"\b(?:dit|raconte|recommande|conseille|suggere)\b",
        r"说[了过]|提到|推荐|建议|告诉",
        r"言(?:った|い)|勧め|話し",
    ),
    "list": (
        r"\b(?:list|name)\s+(?:all|the|some)\b|\bwhat\s+(?:are|were)\b|\b(?:kinds|types|sorts)\s+of\b|\border\b.{0,200}\bevents?\b",
        r"\b(?:what|which)\s+(?:\w+\s+){0,3}?(?!(?:is|was|does|has|his|this)\b)\w{3,}s\s+(?:has|have|does|do|did|is|are|was|were|can|will|would)\b",
        r"\bwelche\s+\w+n\b",
        r"\bque\s+\w+s\s+(?:ha|han|tiene|hizo)\b",
        r"\bquel(?:le)?s\b",
        r"哪些|有什么",
        r"どんな",
    ),
    "did": (
        r"^\W*(?:did|does|do|is|are|was|were|has|have|had|can|could|will|would|should)\b",
        r"^\W*(?:hat|hast|habe|ist|bin|war|kann|wird)\b",
        r"^\W*(?:est-ce|a-t|as-tu|ai-je)",
        r"吗\W*$",
        r"(?:ましたか|ですか|ますか)\W*$",
    ),
}
_KIND_PATTERNS = tuple((kind, late_alternatives(*patterns)) for kind, patterns in _KINDS.items())
_WHEN = late_alternatives(*_KINDS["when"])
_LATEST = late_alternatives(
    r"\b(?:currently|now|nowadays|these\s+days|still|at\s+the\s+moment|right\s+now|at\s+present|presently|latest|most\s+recent(?:ly)?|current)\b",
    r"\b(?:anymore|up\s+to\s+date|new(?:est)?\s+(?:job|address|phone|number))\b",
    r"\b(?:aktuell\w*|derzeit|momentan|zurzeit|jetzt|immer\s+noch|neueste\w*)\b",
    r"\b(?:actualmente|ahora|todavia|aun|hoy\s+en\s+dia|actual)\b",
    r"\b(?:actuellement|maintenant|toujours|encore|actuel(?:le)?|en\s+ce\s+moment)\b",
    r"现在|現在|目前|如今|还在|最新|当前",
    r"今は|今も|まだ",
)
_PAST = late_alternatives(
    r"\buse[d]?\s+to\b|\b(?:before|originally|previous(?:ly)?|former(?:ly)?|in\s+the\s+past|back\s+then|at\s+first|initial(?:ly)?|earlier|once)\b",
    r"\b(?:was|were|did)\b.{0,60}\b(?:the|my|our)\s+old\b|\bwhy\s+did\s+(?:we|i)\s+(?:drop|leave|quit|stop|replace|remove|switch)\b",
    r"\b(?:no\s+longer|old\s+(?:job|address|phone|number|apartment|house)|at\s+the\s+time)\b",
    r"\b(?:fruher\w*|damals|ursprunglich|ehemalig\w*|vorher|zuvor|anfangs)\b",
    r"\b(?:antes|anteriormente|originalmente|solia|al\s+principio|anterior)\b",
    r"\b(?:avant|auparavant|autrefois|a\s+l'origine|ancien(?:ne)?|au\s+debut|jadis)\b",
    r"以前|之前|原来|原本|曾经|当初",
    r"過去|かつて|もともと|(?<![名午])前は|昔",
)
_COURSE = late_alternatives(
    r"\b(?:in\s+(?:what|which)\s+order|order\s+in\s+which|chronolog\w+|timeline|over\s+time|overview|summar(?:y|ies|i[sz]\w+))\b",
    r"\b(?:across|throughout)\s+(?:all\s+)?(?:of\s+)?(?:my|our|the|these|those)\b",
    r"\bhow\s+(?:has|have|did)\b.{1,80}\b(?:progress|develop|evolve|change)(?:e?d)?\b",
    r"\b(?:reihenfolge|chronologisch\w*|im\s+laufe|verlauf\w*|uberblick|zusammenfass\w*|fasse\b.{1,80}\bzusammen)\b",
    r"\b(?:en\s+que\s+orden|orden\s+en\s+(?:el\s+)?que|cronolog\w+|a\s+lo\s+largo\s+de|resum(?:en|ir|eme))\b",
    r"\b(?:dans\s+quel\s+ordre|ordre\s+dans\s+lequel|au\s+fil\s+d\w*|au\s+cours\s+d\w*|resum(?:er|ez|e-moi))\b",
    r"顺序|先后|总结|概括|时间线|来龙去脉",
    r"順番|順序|まとめ|要約|経緯|時系列",
)
_ASKING = "what|when|where|who|why|how|which|did|does|was|wann|wo|wer|warum|wie|cuando|donde|quien|como|quand|ou|qui|comment"
_SPLIT = late_pattern(
    rf"\?\s++(?=\S)|,?(?<!\s)\s++(?:and|und|y|et)\s++(?=(?:{_ASKING})\b)", re.IGNORECASE
)
_SPLIT_UNSPACED = late_pattern(
    r"[?？]\s*+(?=\S)|[，、,]\s*(?=什么|什麼|谁|誰|哪|何|いつ|どこ|怎么)"
)


_LEAST_QUESTION = 4
"""Characters of the shortest part that counts as a question."""

_USER = {
    "en": r"\b(?:i|im|i'm|i've|i'd|i'll|my|me|mine|myself|we|our|us)\b",
    "de": (
        r"\b(?:ich|mein|meine|meinen|meinem|meiner|meines|mir|mich|wir|unser|unsere|unserem|uns)\b"
    ),
    "es": (
        r"\b(?:yo|mi|mis|me|mio|mia|conmigo|nosotros|nuestro|nuestra|hice|dije|fui|compre|tengo|vivo)\b"
    ),
    "fr": r"\b(?:je|mon|ma|mes|moi|me|nous|notre|nos)\b|\b[jm]'",
    "zh": "我|咱们",
    "ja": "私|僕|俺|わたし|ぼく",
}
# Questions about the assistant; "do you know", "can you tell me" and "what would you suggest" are
# none.
_ASSISTANT = (
    r"\b(?:did|have|had|were|are)\s+you\b(?!\s+(?:know|remember|recall|tell\s+me|think\s+i|remind|able))",
    r"\byour\s+(?:\w+\s+)?(?:suggestion|recommendation|advice|answer|reply|response|opinion|explanation)s?\b",
    r"\byou\s+(?:said|suggested|recommended|told|gave|mentioned|wrote|explained|proposed|advised)\b",
    r"\b(?:hast|wolltest|hattest)\s+du\b|\bdu\s+(?:mir\s+)?(?:gesagt|empfohlen|vorgeschlagen)\b|\bhaben\s+sie\s+mir\b",
    r"\b(?:me\s+)?(?:recomendaste|dijiste|sugeriste|aconsejaste)\b|\bme\s+(?:recomendo|sugirio)\s+usted\b",
    r"\b(?:m'as|m'avez|as-tu|avez-vous)\b",
    r"[你您].{0,4}(?:说|說|推荐|推薦|建议|建議|提到)",
    r"(?:あなた|君).{0,6}(?:言|勧|提案)",
)
_USER_PATTERNS = {name: late_pattern(pattern) for name, pattern in _USER.items()}
_ASSISTANT_PATTERN = late_alternatives(*_ASSISTANT)


def question_kind(folded: str) -> QuestionKind:
    """Kind of a folded question."""
    return next((kind for kind, pattern in _KIND_PATTERNS if pattern.search(folded)), "other")


def wants_time(folded: str, kind: QuestionKind | None = None) -> bool:
    """Test for a question about a time or duration.

    ``kind``: its kind, where that is known.
    """
    # Kinds after these two are chosen only where it asks for no time.
    return _WHEN.search(folded) is not None if kind in (None, "how_many") else kind == "when"


def wants_current(folded: str) -> bool:
    """Test for a question about the present ("where does she live now")."""
    return _LATEST.search(folded) is not None


def wants_past(folded: str) -> bool:
    """Test for a question about the past ("where she used to live")."""
    return _PAST.search(folded) is not None


def wants_course(folded: str) -> bool:
    """Test for a question about a course of things ("in which order")."""
    return _COURSE.search(folded) is not None


def split_questions(query: str) -> tuple[str, ...]:
    """Split "Where does Ann live, and when did she move?" into two."""
    parts = [
        part.strip()
        for spaced_part in _SPLIT.split(query)
        for part in _SPLIT_UNSPACED.split(spaced_part)
    ]
    questions = [part for part in parts if len(part) >= _LEAST_QUESTION]
    return tuple(questions) if len(questions) > 1 else (query.strip(),)


def asked_role(folded: str, language: str) -> Role:
    """Assistant for its own words, user for the asker's, else empty."""
    if _ASSISTANT_PATTERN.search(folded):
        return "assistant"
    return "user" if _USER_PATTERNS.get(language, _USER_PATTERNS["en"]).search(folded) else ""


@dataclass(frozen=True, slots=True)
class QueryCues:
    """Parsed query: people, times, answer kind, rewritten texts."""

    query: str
    people: tuple[str, ...] = ()
    """Speakers that it names, in order."""
    other_names: tuple[str, ...] = ()
    """Unknown names, as written."""
    asked_about: tuple[str, ...] = ()
    """Speakers asked about, out of ``people``: both of "What do Ann and Bob share?"."""
    role: Literal["", "user", "assistant"] = ""
    """User where the asker means themselves ("my dog"), assistant where they address it ("what did
    you suggest"), else empty.
    """
    dense_text: str = ""
    """Text for the embedder, as the person asked about would say it."""
    lexical_text: str = ""
    """Text for BM25."""
    spans: tuple[TimeSpan, ...] = ()
    """Times that it names."""
    kind: QuestionKind = "other"
    wants_time: bool = False
    """It asks when, or how long."""
    wants_current: bool = False
    """It asks about the present."""
    wants_past: bool = False
    """It asks about the past, so that what is superseded is not put behind what holds now."""
    wants_course: bool = False
    """It asks about a course of things, so that hits are spread over their time."""
    questions: tuple[str, ...] = ()
    """Questions that it consists of; itself if it is one."""
    language: str = "en"
    """Code of the language that it is written in."""

    @property
    def dated_spans(self) -> list[TimeSpan]:
        """Times asked about, but not "now": current facts may be old."""
        return [span for span in self.spans if not (self.wants_current and span.grain == "range")]

    def to_json(self) -> Json:
        """Non-empty cues, for a trace."""
        times = [
            {
                "text": span.text,
                "from": span.start.isoformat(),
                "to": span.end.isoformat(),
                "grain": span.grain,
            }
            for span in self.spans
        ]
        values = {
            "people": list(self.people),
            "names": list(self.other_names),
            "about": list(self.asked_about),
            "role": self.role,
            "dense": self.dense_text,
            "lexical": self.lexical_text,
            "times": times,
            "kind": self.kind,
            "wants_time": self.wants_time,
            "latest": self.wants_current,
            "past": self.wants_past,
            "course": self.wants_course,
            "parts": list(self.questions) if len(self.questions) > 1 else [],
            "language": self.language,
        }
        return {name: value for name, value in values.items() if value}


def parse_query(query: str, now: datetime, speakers: Mapping[str, int]) -> QueryCues:
    """Parse the cues of a query.

    ``speakers``: everyone who spoke, with counts. Dates without a year are resolved from ``now``.
    Takes any text and reads its last 4000 characters; without cues, ``dense_text`` and
    ``lexical_text`` are these unchanged.
    """
    tail = query[-TAIL:]
    language = detect_language(tail)
    text = first_person.strip_politeness(tail)
    folded = fold(text)
    mentions = name_mentions.find_mentions(text, speakers, language)
    asked_about = name_mentions.asked_speakers(text, mentions)
    role = asked_role(folded, language) if not asked_about else ""
    kind = question_kind(folded)
    speaker_count = sum(1 for speaker in speakers if speaker.casefold() not in name_mentions.ROLES)
    subject = first_person.QuerySubject(asked_about, role, language, speaker_count)
    people = [mention.speaker for mention in mentions if mention.speaker]
    other_names = [text[mention.start : mention.end] for mention in mentions if not mention.speaker]
    return QueryCues(
        query=query,
        people=tuple(dict.fromkeys(people)),
        other_names=tuple(dict.fromkeys(other_names)),
        asked_about=asked_about,
        role=role,
        dense_text=first_person.rewrite_dense(text, mentions, subject) or text,
        lexical_text=first_person.rewrite_lexical(text, mentions, asked_about) or text,
        spans=find_times(tail, now),
        kind=kind,
        wants_time=wants_time(folded, kind),
        wants_current=wants_current(folded),
        wants_past=wants_past(folded),
        wants_course=wants_course(folded),
        questions=split_questions(text),
        language=language,
    )
