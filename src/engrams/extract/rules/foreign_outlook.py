"""Tell whether a time is over or still to come, in languages other than English.

Each language has patterns for what is done, what is planned for a day, what is to come, and the
present tense. They are read on the words as they stand, in lower case and with their accents.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from engrams.frozen_data import dataclass
from engrams.text.late_patterns import late_pattern

Outlook: TypeAlias = Literal["over", "coming", "planned", "present", "unclear", "open"]
"""``over`` was told as done, ``coming`` is said to come. ``planned`` tells of a plan that may be
made or carried out on the day ("I booked it on 3 May"), ``present`` is the present tense,
``unclear`` words that fit both ("I put it off", "he said it was on Friday"); ``open`` where nothing
tells.
"""

_PART = re.compile(r"[,;:，、；()]|\s(?:aber|und\s+ich|und\s+wir|pero|y\s+luego|mais|et\s+puis)\s")

_GERMAN_PARTICIPLE = (
    r"(?:(?:ab|an|auf|aus|ein|um|mit|nach|vor|weg|zu|zurück|heim|los|her|hin|kennen|statt|teil|fest|fern)?ge\w{2,}(?:t|en)"
    r"|(?:be|ver|er|ent|zer|über|unter)\w{3,}(?:t|en)|\w{3,}iert)\b"
)


@dataclass(frozen=True, slots=True)
class LanguageOutlook:
    """Patterns of one language."""

    over: re.Pattern[str]
    coming: re.Pattern[str]
    present: re.Pattern[str]
    governs: re.Pattern[str]
    """Words right before a time that set a plan for it: "verschoben auf"."""


def find_foreign_outlook(before: str, after: str, language: str) -> Outlook:
    """Find the outlook of a time from what its sentence says before and after it."""
    words = _LANGUAGES.get(language)
    if words is None:
        return "open"
    before = before.lower()
    after = after.lower()
    if words.governs.search(f"{before}\x1f{after}"):
        return "coming"
    first = max((match.end() for match in _PART.finditer(before)), default=0)
    cut = _PART.search(after)
    last = cut.start() if cut else len(after)
    outlook = _read_part(words, f"{before[first:]}\x1f{after[:last]}")
    if outlook == "open" and (first or cut):
        outlook = _read_part(words, f"{before}\x1f{after}")
    return outlook


def _read_part(words: LanguageOutlook, part: str) -> Outlook:
    over = words.over.search(part)
    coming = words.coming.search(part)
    if over and coming:
        return "planned"
    if over:
        return "over"
    if coming:
        return "coming"
    return "present" if words.present.search(part) else "open"


_LANGUAGES = {
    "de": LanguageOutlook(
        over=late_pattern(
            r"\b(?:war(?:en|st)?|hatten?|gab|gingen?|kam(?:en)?|fuhr(?:en)?|flog(?:en)?|wurden?|sah(?:en)?|traf(?:en)?"
            r"|zog(?:en)?|bekam(?:en)?|kauften?|machten?|musste[nt]?|konnten?|wollten?|ließ(?:en)?|fand(?:en)?|nahm(?:en)?"
            r"|begann(?:en)?|schrieb(?:en)?|blieb(?:en)?|starb(?:en)?|aß(?:en)?|\w{3,}(?:t|d)eten?|(?!warte|miete|heirate|biete|arbeite|rate)\w{2,}[bcdfgklmnprsßvwz]ten?(?=\s+(?:ich|wir|er|sie)\b))\b"
            rf"|\b(?:hab|habe|hast|hat|haben|habt|bin|bist|ist|sind|seid)\b[^.!?]*\b{_GERMAN_PARTICIPLE}"
        ),
        coming=late_pattern(
            r"\b(?:werde|wirst|werden|werdet|wird|plane|planen|plant|geplant|vorhabe|vor\s+zu|möchte|möchten|will|wollen|soll|sollen"
            r"|müssen|muss|beginnt|beginne|fängt|startet|steht\s+an|bevor|eingeladen|angesetzt|termin\s+(?:am|ist))\b"
        ),
        present=late_pattern(
            r"\b(?:ist|bin|sind|hab|habe|haben|hat|habt|gibt|geht|gehe|gehen|komme|kommt|kommen|fahre|fährt|fahren|fliege|fliegt|fliegen"
            r"|ziehe|zieht|ziehen|treffe|trifft|treffen|mache|macht|machen|fange|bekomme|bekommt|heirate|heiraten|heiratet|reise|reisen"
            r"|besuche|besuchen|besucht|feiere|feiern|feiert|findet|muss|darf|kann|ich\s+\w+e|\w+e\s+ich|wir\s+\w+en|\w+en\s+wir)\b"
        ),
        governs=late_pattern(
            r"\b(?:verschoben|verlegt|vertagt|verlängert|gebucht|angesetzt|geplant|reserviert|vereinbart|terminiert)\s+(?:auf|für|bis(?:\s+zum)?|zum)\s+(?:den\s+)?\x1f"
            r"|\b(?:auf|für|zum|bis)\s+(?:den\s+|zum\s+)?\x1f[^\x1f]*\b(?:verschoben|verlegt|vertagt|verlängert|gebucht|angesetzt|geplant|reserviert|vereinbart)\b"
            r"|\bfür\s+den\s+\x1f|\bab\s+(?:dem\s+)?\x1f|\bfällig\s+(?:am|zum)\s+\x1f"
        ),
    ),
    "es": LanguageOutlook(
        over=late_pattern(
            r"\b(?:fui|fue|fuimos|fueron|estuve|estuvo|estuvimos|estuvieron|tuve|tuvo|tuvimos|hice|hizo|hicimos|vi|vio|vimos|di|dio"
            r"|vine|vino|puse|puso|dije|dijo|era|eran|iba|había|tenía|estaba|empecé|llegué|pagué|nací|nació"
            r"|\w{2,}(?:aron|ieron|iste|aste|ió|ía|ían|aba|aban)|\w{2,}[^r\W]é|\w{2,}ó|\w{2,}[^r\W]í)\b"
            r"|\b(?:he|has|ha|hemos|han)\s+(?:\w+\s+)?\w*(?:ado|ido|ído|hecho|visto|dicho|puesto|vuelto|escrito|abierto|roto)\b"
        ),
        coming=late_pattern(
            r"\b(?:voy|vas|va|vamos|van)\s+a\b|\b\w{2,}(?:aré|eré|iré|ará|erá|irá|aremos|eremos|iremos|arán|erán|irán)\b"
            r"|\b(?:tendré|tendrá|tendremos|vendrá|vendré|saldré|saldrá|haré|hará|habrá|empieza|comienza|pienso|quiero|queremos|previsto"
            r"|prevista|programad[oa]|invitad[oa]s?)\b"
        ),
        present=late_pattern(
            r"\b(?:es|son|tengo|tenemos|tiene|tienen|hay|voy|vas|va|vamos|van|viajo|salgo|sale|salimos|llega|llego|vuelo|vuelvo|viene|vienen"
            r"|empiezo|quedo|quedamos|me\s+caso|está|estoy)\b"
            r"|(?:\x1f\s*|\b(?:yo|me|te|se|la|lo)\s+)[^\W\d]{3,}o\b"
        ),
        governs=late_pattern(
            r"\b(?:aplazad|pospuest|trasladad|prorrogad|reservad|programad|previst)[oa]s?\s+(?:para|al|hasta|a)\s+(?:el\s+|la\s+)?\x1f"
            r"|\bpara\s+(?:el\s+)?\x1f|\ba\s+partir\s+del?\s+\x1f"
        ),
    ),
    "fr": LanguageOutlook(
        over=late_pattern(
            r"\b(?:étais|était|étions|étaient|avais|avait|avions|avaient|allais|allait|fut|\w{3,}(?:ais|ait|aient))\b(?<!j'ai|mais)"
            r"|(?:\b|')(?:ai|as|a|avons|avez|ont|suis|es|est|sommes|êtes|sont)\s+(?:(?:pas|déjà|bien|enfin|tous|juste|encore|aussi)\s+)*"
            r"(?:\w{2,}(?:é|és|ée|ées)|\w*(?:vu|vue|lu|reçu|vendu|perdu|couru|venu|venue|venus|tenu|bu|cru|dû|pu|su|voulu|fait|faite"
            r"|dit|écrit|pris|prise|mis|mise|appris|fini|finie|parti|partie|partis|sorti|sortie|choisi|dormi|ouvert|offert|eu|mort|morte|né|née))(?!\w)"
        ),
        coming=late_pattern(
            r"\b(?:vais|vas|va|allons|allez|vont)\s+(?:\w+\s+)?\w+(?:er|ir|re|oir)\b|\b\w{2,}(?:erai|eras|era|erons|eront|irai|ira|irons|iront|rai|rons|ront)\b"
            r"|\b(?:prévue?s?|commence|commencent|débute|bientôt|invitée?s?|compte|veux|voudrais)\b"
        ),
        present=late_pattern(
            r"(?:\b|')(?:est|sont|ai|as|a|avons|ont|pars|part|partons|arrive|arrivent|vais|va|allons|vient|viens|viennent|déménage|déménageons"
            r"|rentre|rentrons|commence|passe|prends|prend|reçois|voyage|marie|marions|y\s+a)\b"
            r"|\b(?:je|on|nous|il|elle|ils|elles|j')\s?(?:(?:me|nous|se|en|y|ne|la|le|les)\s|[mslnd]')*[^\W\d]{2,}(?:e|s|t|ons|ent|d)\b"
        ),
        governs=late_pattern(
            r"\b(?:repoussée?|reportée?|décalée?|prolongée?|réservée?|programmée?|prévue?|fixée?)s?\s+(?:au|à|pour|jusqu'au)\s+(?:le\s+)?\x1f"
            r"|\bpour\s+(?:le\s+)?\x1f|\bà\s+partir\s+(?:du|de)\s+\x1f"
        ),
    ),
    "zh": LanguageOutlook(
        over=late_pattern(
            r"(?<!要)(?<!快)(?<!为)了(?!解)|过(?!敏|去|年|节|生日)|已经|已|刚(?!好)|曾"
        ),
        coming=late_pattern(
            r"要|将|將|(?<!开)(?<!约)会(?!议)|會(?!議)|打算|准备|準備|计划|計劃|预约|預約|预定|預訂|定在|约在|约好|改到|推迟|延期|出发|开始"
        ),
        present=late_pattern(r"有|去|是|来|到|飞|见|做|搬"),
        governs=late_pattern(r"(?:改到|推迟到|延到|延期到|定在|约在|安排在)\s*\x1f"),
    ),
    "ja": LanguageOutlook(
        over=late_pattern(
            r"(?:ました|でした|だった|った|いた|んだ|した|来た|見た|出た|きた|えた)(?![いらり])"
        ),
        coming=late_pattern(
            r"予定|つもり|(?<!い)ます(?!か)|でしょう|だろう|たい|に行く|延期|始まる|あります|あるんです"
        ),
        present=late_pattern(r"です|(?<![いて])る(?=[\s。、]|\Z)|行く|ある"),
        governs=late_pattern(r"(?!)"),
    ),
}
