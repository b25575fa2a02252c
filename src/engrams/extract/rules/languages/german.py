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
        "{s} wohnt nicht mehr in {o}",
        "ends",
    ),
    (
        "works_at",
        "work",
        r"\bich arbeite (?:jetzt )?nicht mehr (?:bei|für) (?P<o>.+)",
        "{s} arbeitet nicht mehr bei {o}",
        "ends",
    ),
    (
        "works_at",
        "work",
        r"\bich habe (?:meinen job |meine stelle )?(?:bei (?P<o>.+?) )?gekündigt",
        "{s} hat bei {o} gekündigt",
        "ends",
    ),
    (
        "lives_in",
        "home",
        r"\bich (?:bin|zog)\b.{0,30}?\bnach (?P<o>.+?)(?: (?:um)?gezogen|$)",
        "{s} ist nach {o} gezogen",
        "changes",
    ),
    (
        "lives_in",
        "home",
        r"\bwir (?:sind|zogen)\b.{0,30}?\bnach (?P<o>.+?) (?:um)?gezogen",
        "{s} ist nach {o} gezogen",
        "changes",
    ),
    ("lives_in", "home", rf"\bich (?:wohne|lebe) {_ADVERBS}in (?P<o>.+)", "{s} wohnt in {o}"),
    ("works_at", "work", rf"\bich arbeite {_ADVERBS}(?:bei|für) (?P<o>.+)", "{s} arbeitet bei {o}"),
    (
        "works_at",
        "work",
        r"\bich habe bei (?P<o>.+?) angefangen",
        "{s} hat bei {o} angefangen",
        "changes",
    ),
    ("job", "work", rf"\bich arbeite {_ADVERBS}als (?P<o>.+)", "{s} arbeitet als {o}"),
    ("job", "work", r"\bich bin (?:jetzt )?(?P<o>\w+(?: \w+)?) von beruf", "{s} ist {o} von Beruf"),
    (
        "is_named",
        "identity",
        r"\bich hei(?:ß|ss)e (?P<o>.+)|\bmein name ist (?P<n>.+)",
        "{s} heißt {o}",
    ),
    (
        "age",
        "identity",
        r"\bich bin (?:jetzt )?(?P<o>\d{1,3})(?: jahre(?: alt)?)?\b",
        "{s} ist {o} Jahre alt",
    ),
    (
        "favorite",
        "preference",
        r"\bmeine? lieblings(?P<f>\w+) ist (?:jetzt )?(?P<o>.+)",
        "Lieblings{f} ist {o} ({s})",
    ),
    (
        "likes",
        "preference",
        r"\bich (?:mag|liebe|esse|trinke) (?:gar |überhaupt )?kein(?:e|en)? (?P<o>.+?)(?: mehr)?$",
        "{s} mag {o} nicht",
        "no",
    ),
    (
        "likes",
        "preference",
        r"\bich (?:mag|liebe) (?P<o>.+?) (?:gar |überhaupt )?nicht(?: mehr)?(?: gern)?$",
        "{s} mag {o} nicht",
        "no",
    ),
    ("likes", "preference", r"\bich (?:hasse|verabscheue) (?P<o>.+)", "{s} hasst {o}", "no"),
    ("likes", "preference", r"\bich (?:mag|liebe) (?:auch |sehr |jetzt )?(?P<o>.+)", "{s} mag {o}"),
    ("speaks", "language", r"\bich spreche (?:auch |fließend |gut )*(?P<o>.+)", "{s} spricht {o}"),
    ("from", "identity", r"\bich komme (?:ursprünglich )?aus (?P<o>.+)", "{s} kommt aus {o}"),
    (
        "allergic_to",
        "health",
        r"\bich bin allergisch (?:gegen|auf) (?P<o>.+)",
        "{s} ist allergisch gegen {o}",
    ),
    (
        "married_to",
        "family",
        r"\bich bin (?:jetzt )?mit (?P<o>.+?) verheiratet",
        "{s} ist mit {o} verheiratet",
    ),
    (
        "diet",
        "health",
        r"\bich bin (?:jetzt )?(?P<o>vegan|vegetarisch|veganer(?:in)?|vegetarier(?:in)?)\b",
        "{s} ist {o}",
    ),
    ("studies", "education", r"\bich studiere (?:jetzt )?(?P<o>.+)", "{s} studiert {o}"),
    (
        "lives_in",
        "home",
        r"\bmeine? <rel>(?: \w+)? (?:wohnt|lebt) (?:jetzt )?in (?P<o>.+)",
        "{s} wohnt in {o}",
    ),
    (
        "works_at",
        "work",
        r"\bmeine? <rel>(?: \w+)? arbeitet (?:jetzt )?bei (?P<o>.+)",
        "{s} arbeitet bei {o}",
    ),
    ("is_named", "identity", r"\bmeine? <rel> hei(?:ß|ss)t (?P<o>.+)", "{s} heißt {o}"),
    (
        "has",
        "possession",
        (
            r"\bich habe (?P<o>(?:eine?n?|zwei|drei|vier) (?:\w+"
            r" )?(?:hund|hunde|katzen?|sohn|tochter|töchter|söhne|kinder|kind"
            r"|schwestern?|bruder|brüder|auto|haus|fahrrad|garten)\b.*)"
        ),
        "{s} hat {o}",
    ),
    (
        "attribute",
        "identity",
        r"\bmein(?:e|en)? (?:neue[rs]? )?<prop> (?:ist|lautet)(?: jetzt)?(?: am)? (?P<o>.+)",
        "{f} ({s}): {o}",
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
        "{s} ist {o}",
    ),
    (
        "went_to",
        "event",
        r"\bich (?:war|bin)\b.{0,25}?\bin (?P<o>[A-ZÄÖÜ]\w+)(?: gewesen)?$",
        "{s} war in {o}",
    ),
    ("bought", "event", r"\bich habe (?:mir )?(?P<o>.+?) gekauft", "{s} hat {o} gekauft"),
]

GERMAN = LanguageTable(
    code="de",
    user="der Nutzer",
    relative_of="{article} {relative} von {name}",
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
    articles={
        "Der": "bruder vater papa mann freund sohn opa chef hund kollege",
        "Die": "schwester mutter mama frau freundin tochter oma chefin katze eltern kollegin",
    },
    contractions={"von der Nutzer": "des Nutzers"},
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
