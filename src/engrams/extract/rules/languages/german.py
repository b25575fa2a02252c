"""Sentence forms of German."""

from __future__ import annotations

from engrams.extract.rules.languages.language_table import LanguageTable

_ADVERBS = (
    r"(?:jetzt |derzeit |momentan |aktuell |seit \w+(?: \w+)? |auch |immer noch |noch |gerade )*"
)

_FORMS: list[tuple[str, ...]] = [
    (
        "lives_in",
        "home",
        r"\bich (?:wohne|lebe) (?:jetzt )?nicht mehr in (?P<o>.+)",
        "ends",
    ),
    (
        "works_at",
        "work",
        r"\bich arbeite (?:jetzt )?nicht mehr (?:bei|für) (?P<o>.+)",
        "ends",
    ),
    (
        "works_at",
        "work",
        r"\bich habe (?:meinen job |meine stelle )?(?:bei (?P<o>.+?) )?gekündigt",
        "ends",
    ),
    (
        "lives_in",
        "home",
        r"\bich (?:bin|zog)\b.{0,30}?\bnach (?P<o>.+?)(?: (?:um)?gezogen|$)",
        "changes",
    ),
    (
        "lives_in",
        "home",
        r"\bwir (?:sind|zogen)\b.{0,30}?\bnach (?P<o>.+?) (?:um)?gezogen",
        "changes",
    ),
    ("lives_in", "home", rf"\bich (?:wohne|lebe) {_ADVERBS}in (?P<o>.+)"),
    ("works_at", "work", rf"\bich arbeite {_ADVERBS}(?:bei|für) (?P<o>.+)"),
    (
        "works_at",
        "work",
        r"\bich habe bei (?P<o>.+?) angefangen",
        "changes",
    ),
    ("job", "work", rf"\bich arbeite {_ADVERBS}als (?P<o>.+)"),
    ("job", "work", r"\bich bin (?:jetzt )?(?P<o>\w+(?: \w+)?) von beruf"),
    (
        "is_named",
        "identity",
        r"\bich hei(?:ß|ss)e (?P<o>.+)|\bmein name ist (?P<n>.+)",
    ),
    (
        "age",
        "identity",
        r"\bich bin (?:jetzt )?(?P<o>\d{1,3})(?: jahre(?: alt)?)?\b",
    ),
    (
        "favorite",
        "preference",
        r"\bmeine? lieblings(?P<f>\w+) ist (?:jetzt )?(?P<o>.+)",
    ),
    ("drinks", "preference", r"\bich trinke kein(?:e|en)? (?P<o>.+?) mehr$", "ends"),
    ("eats", "preference", r"\bich esse kein(?:e|en)? (?P<o>.+?) mehr$", "ends"),
    ("drinks", "preference", r"\bich trinke (?:gar )?kein(?:e|en)? (?P<o>.+)", "no"),
    ("eats", "preference", r"\bich esse (?:gar )?kein(?:e|en)? (?P<o>.+)", "no"),
    (
        "likes",
        "preference",
        r"\bich (?:mag|liebe) (?:gar |überhaupt )?kein(?:e|en)? (?P<o>.+?)(?: mehr)?$",
        "no",
    ),
    (
        "likes",
        "preference",
        r"\bich (?:mag|liebe) (?P<o>.+?) (?:gar |überhaupt )?nicht(?: mehr)?(?: gern)?$",
        "no",
    ),
    ("likes", "preference", r"\bich (?:hasse|verabscheue) (?P<o>.+)", "no"),
    ("likes", "preference", r"\bich (?:mag|liebe) (?:auch |sehr |jetzt )?(?P<o>.+)"),
    ("speaks", "language", r"\bich spreche (?:auch |fließend |gut )*(?P<o>.+)"),
    ("from", "identity", r"\bich komme (?:ursprünglich )?aus (?P<o>.+)"),
    (
        "allergic_to",
        "health",
        r"\bich bin allergisch (?:gegen|auf) (?P<o>.+)",
    ),
    (
        "married_to",
        "family",
        r"\bich bin (?:jetzt )?mit (?P<o>.+?) verheiratet",
    ),
    (
        "diet",
        "health",
        r"\bich bin (?:jetzt )?(?P<o>vegan|vegetarisch|veganer(?:in)?|vegetarier(?:in)?)\b",
    ),
    ("studies", "education", r"\bich studiere (?:jetzt )?(?P<o>.+)"),
    (
        "lives_in",
        "home",
        r"\bmeine? <rel>(?: \w+)? (?:wohnt|lebt) (?:jetzt )?in (?P<o>.+)",
    ),
    (
        "lives_in",
        "home",
        r"\bmeine? <rel>(?: \w+)? ist (?:\w+ )?nach (?P<o>.+?) (?:um)?gezogen",
        "changes",
    ),
    (
        "works_at",
        "work",
        r"\bmeine? <rel>(?: \w+)? arbeitet (?:jetzt )?bei (?P<o>.+)",
    ),
    ("is_named", "identity", r"\bmeine? <rel> hei(?:ß|ss)t (?P<o>.+)"),
    (
        "has",
        "possession",
        (
            r"\bich habe (?P<o>(?:eine?n?|zwei|drei|vier) (?:\w+"
            r" )?(?:hund|hunde|katzen?|sohn|tochter|töchter|söhne|kinder|kind"
            r"|schwestern?|bruder|brüder|auto|haus|fahrrad|garten)\b.*)"
        ),
    ),
    (
        "attribute",
        "identity",
        r"\bmein(?:e|en)? (?:neue[rs]? )?<prop> (?:ist|lautet)(?: jetzt)?(?: am)? (?P<o>.+)",
    ),
    (
        "job",
        "work",
        (
            r"\bich bin (?:jetzt |eine?"
            r" )?(?P<o>(?:lehrer|arzt|ärztin|ingenieur|entwickler|programmierer|krankenschwester"
            r"|pfleger|koch|köchin|anwalt|anwältin"
            r"|student|designer|architekt|verkäufer|berater|journalist|künstler|musiker|polizist|mechaniker|bäcker|friseur"
            r"|kellner|professor|buchhalter)(?:in)?)\b"
        ),
    ),
    (
        "went_to",
        "event",
        r"\bich (?:war|bin)\b.{0,25}?\bin (?P<o>[A-ZÄÖÜ]\w+)(?: gewesen)?$",
    ),
    ("bought", "event", r"\bich habe (?:mir )?(?P<o>.+?) gekauft"),
]

GERMAN = LanguageTable(
    code="de",
    cue=r"\b(?:ich|mein|meine|meinen|meiner|wir)\b",
    hypothetical=(
        r"\b(?:würde|würden|wäre|könnte|hätte|wenn|falls|vielleicht|möchte|will|wollte|hoffe|überlege|träume|plane|nehmen wir an"
        r"|stell dir vor)\b|\b(?:er|sie|man) (?:sagt|sagte|meint|meinte)\b"
    ),
    relatives={
        "schwester": "sister", "bruder": "brother", "mutter": "mother", "vater": "father", "mama": "mother", "papa": "father",
        "frau": "wife", "mann": "husband", "freundin": "girlfriend", "freund": "boyfriend", "tochter": "daughter", "sohn": "son",
        "oma": "grandmother", "opa": "grandfather", "chef": "boss", "chefin": "boss", "hund": "dog", "katze": "cat",
        "eltern": "parents", "kollege": "colleague", "kollegin": "colleague",
    },
    favorites={
        "farbe": "color", "essen": "food", "film": "movie", "buch": "book", "band": "band", "sport": "sport", "getränk": "drink",
        "tier": "animal", "stadt": "city",
    },
    properties={
        "chef": "manager", "chefin": "manager", "geburtstag": "birthday", "telefonnummer": "phone", "handynummer": "phone",
        "nummer": "phone", "adresse": "address", "e-mail": "email", "email": "email", "e-mail-adresse": "email",
        "zahnarzt": "dentist", "hausarzt": "doctor", "vermieter": "landlord", "gehalt": "salary", "beruf": "job", "budget": "budget",
    },
    forms=_FORMS,
)  # fmt: skip
