"""Sentence forms of French."""

from __future__ import annotations

from engrams.extract.rules.languages.language_table import LanguageTable

_ADVERBS = r"(?:maintenant |actuellement |aussi |toujours |encore |désormais )*"

_FORMS: list[tuple[str, ...]] = [
    (
        "lives_in",
        "home",
        (
            r"\bje n['’](?:habite|vis) plus (?:à|en|au|aux) (?P<o>.+)|\bje ne vis plus (?:à|en|au)"
            r" (?P<n>.+)"
        ),
        "ends",
    ),
    (
        "works_at",
        "work",
        r"\bje ne travaille plus (?:chez|pour) (?P<o>.+)|\bj['’]ai quitté (?P<n>[A-Z].+)",
        "ends",
    ),
    (
        "lives_in",
        "home",
        (
            r"\b(?:j['’]ai déménagé|nous avons déménagé|je viens de déménager|je me suis"
            r" installée?)\b.{0,20}?\b(?:à|en|au) (?P<o>.+)"
        ),
        "changes",
    ),
    (
        "lives_in",
        "home",
        rf"\b(?:j['’]habite|je vis) {_ADVERBS}(?:à|en|au|aux) (?P<o>.+)",
    ),
    (
        "works_at",
        "work",
        rf"\bje travaille {_ADVERBS}(?:chez|pour) (?P<o>.+)",
    ),
    ("job", "work", rf"\bje travaille {_ADVERBS}comme (?P<o>.+)"),
    (
        "works_at",
        "work",
        r"\bj['’]ai commencé (?:à travailler )?chez (?P<o>.+)",
        "changes",
    ),
    (
        "is_named",
        "identity",
        r"\bje m['’]appelle (?P<o>.+)|\bmon nom est (?P<n>.+)",
    ),
    ("age", "identity", r"\bj['’]ai (?:maintenant )?(?P<o>\d{1,3}) ans"),
    (
        "favorite",
        "preference",
        r"\bm(?:on|a) (?P<f>\w+) préférée? (?:est|c['’]est) (?:maintenant )?(?P<o>.+)",
    ),
    (
        "likes",
        "preference",
        r"\b(?:je n['’]aime (?:pas|plus)(?: du tout)?|je déteste) (?P<o>.+)",
        "no",
    ),
    (
        "likes",
        "preference",
        r"\bj['’](?:aime|adore) (?:bien |beaucoup |aussi )?(?P<o>.+)",
    ),
    ("speaks", "language", r"\bje parle (?:aussi |couramment )*(?P<o>.+)"),
    ("from", "identity", r"\bje viens d(?:e |u |['’])(?P<o>[A-ZÀ-Ý].+)"),
    (
        "allergic_to",
        "health",
        r"\bje suis allergique (?:à |aux |au )(?P<o>.+)",
    ),
    (
        "diet",
        "health",
        r"\bje suis (?:maintenant )?(?P<o>végane?|végétarien(?:ne)?|végétalien(?:ne)?)\b",
    ),
    (
        "married_to",
        "family",
        r"\bje suis mariée? (?:à|avec) (?P<o>.+)|\bj['’]ai épousé (?P<n>.+)",
    ),
    ("studies", "education", r"\bj['’]étudie (?P<o>.+)"),
    (
        "lives_in",
        "home",
        r"\bm(?:on|a) <rel>(?: \w+)? (?:habite|vit) (?:maintenant )?(?:à|en|au) (?P<o>.+)",
    ),
    (
        "works_at",
        "work",
        r"\bm(?:on|a) <rel>(?: \w+)? travaille (?:maintenant )?chez (?P<o>.+)",
    ),
    ("is_named", "identity", r"\bm(?:on|a) <rel> s['’]appelle (?P<o>.+)"),
    (
        "has",
        "possession",
        (
            r"\bj['’]ai (?P<o>(?:une?|deux|trois|quatre)"
            r" (?:chiens?|chats?|fils|filles?|enfants?|frères?|sœurs?|voiture|maison|vélo|moto)\b.*)"
        ),
    ),
    (
        "attribute",
        "identity",
        r"\bm(?:on|a) (?:nouve(?:au|l|lle) )?<prop> (?:est|c['’]est) (?P<o>.+)",
    ),
    (
        "job",
        "work",
        (
            r"\bje suis (?:maintenant |une?"
            r" )?(?P<o>professeure?|médecin|infirmi(?:er|ère)|ingénieure?|avocate?|développeu(?:r"
            r"|se)|étudiante?|designer|architecte"
            r"|journaliste|cuisini(?:er|ère)|serveu(?:r|se)|artiste|musicien(?:ne)?|comptable|traduct(?:eur|rice)|enseignante?)\b"
        ),
    ),
    ("went_to", "event", r"\bje suis allée? (?:à|en|au|aux) (?P<o>.+)"),
    ("bought", "event", r"\bj['’]ai acheté (?P<o>.+)"),
]

FRENCH = LanguageTable(
    code="fr",
    cue=r"\b(?:je|j['’]\w|mon|ma|mes)\b|\bj['’]",
    hypothetical=(
        r"\b(?:si|voudrais|aimerais|peut-être|veux|pourrais|serais|souhaite|espère|envisage|imagine|supposons|rêve)\b|\b(?:dit"
        r"|disait) que\b"
    ),
    relatives={
        "sœur": "sister", "soeur": "sister", "frère": "brother", "mère": "mother", "père": "father", "maman": "mother",
        "papa": "father", "femme": "wife", "mari": "husband", "copine": "girlfriend", "copain": "boyfriend", "fille": "daughter",
        "fils": "son", "patron": "boss", "chien": "dog", "chat": "cat", "grand-mère": "grandmother", "grand-père": "grandfather",
        "ami": "friend", "amie": "friend",
    },
    favorites={
        "couleur": "color", "plat": "food", "livre": "book", "boisson": "drink", "ville": "city",
    },
    properties={
        "patron": "manager", "anniversaire": "birthday", "numéro": "phone", "numéro de téléphone": "phone", "mail": "email",
        "médecin": "doctor", "dentiste": "dentist", "salaire": "salary", "métier": "job",
    },
    forms=_FORMS,
)  # fmt: skip
