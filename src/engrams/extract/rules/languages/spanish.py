"""Sentence forms of Spanish."""

from __future__ import annotations

from engrams.extract.rules.languages.language_table import LanguageTable

_ADVERBS = r"(?:ahora |ya |actualmente |también |todavía )*"
_JOBS = (
    r"(?:profesora?|médic[oa]|enfermer[oa]|ingenier[oa]|abogad[oa]|programador[a]?|estudiante|diseñadora?|arquitect[oa]"
    r"|periodista|cociner[oa]|camarer[oa]|artista|músic[oa]|conductora?|contadora?|traductora?|maestr[oa])"
)

_FORMS: list[tuple[str, ...]] = [
    ("lives_in", "home", r"\bya no vivo en (?P<o>.+)", "ends"),
    (
        "works_at",
        "work",
        (
            r"\bya no trabajo (?:en|para) (?P<o>.+)|\b(?:dejé|he dejado) (?:mi trabajo en"
            r" )?(?P<n>[A-ZÁÉÍÓÚ].+)"
        ),
        "ends",
    ),
    (
        "diet",
        "health",
        r"\bya no soy (?P<o>vegan[oa]|vegetarian[oa])\b",
        "ends",
    ),
    ("job", "work", rf"\bya no soy (?P<o>{_JOBS})\b", "ends"),
    (
        "lives_in",
        "home",
        r"\b(?:me mudé|me he mudado|nos mudamos|nos hemos mudado)\b.{0,20}?\ba (?P<o>.+)",
        "changes",
    ),
    ("lives_in", "home", rf"(?<!no )\bvivo {_ADVERBS}en (?P<o>.+)"),
    ("job", "work", rf"\btrabajo {_ADVERBS}(?:como|de) (?P<o>.+)"),
    (
        "works_at",
        "work",
        rf"(?<!no )\b{_ADVERBS}trabajo {_ADVERBS}(?:en|para) (?P<o>.+)",
    ),
    (
        "works_at",
        "work",
        r"\b(?:empecé|he empezado) a trabajar en (?P<o>.+)",
        "changes",
    ),
    ("is_named", "identity", r"\bme llamo (?P<o>.+)|\bmi nombre es (?P<n>.+)"),
    ("age", "identity", r"\btengo (?P<o>\d{1,3}) años"),
    (
        "favorite",
        "preference",
        r"\bmi (?P<f>\w+) favorit[oa] (?:ahora )?es (?P<o>.+)",
    ),
    (
        "likes",
        "preference",
        r"\b(?:no me gustan?|odio|detesto|ya no me gustan?) (?P<o>.+)",
        "no",
    ),
    (
        "likes",
        "preference",
        r"\b(?:me (?:gustan?|encantan?)|adoro|amo) (?:mucho )?(?P<o>.+)",
    ),
    ("speaks", "language", r"\bhablo (?:también |bien )*(?P<o>.+)"),
    ("from", "identity", r"\b(?:yo )?soy de (?P<o>.+)"),
    (
        "allergic_to",
        "health",
        r"\bsoy alérgic[oa] a (?:los |las |la |el )?(?P<o>.+)",
    ),
    ("diet", "health", r"\bsoy (?:ahora )?(?P<o>vegan[oa]|vegetarian[oa])\b"),
    (
        "married_to",
        "family",
        r"\b(?:estoy casad[oa] con|me casé con) (?P<o>.+)",
    ),
    ("studies", "education", r"\bestudio (?P<o>.+)"),
    (
        "lives_in",
        "home",
        r"\bmi <rel>(?: \w+)? (?:ahora )?vive (?:ahora )?en (?P<o>.+)",
    ),
    (
        "lives_in",
        "home",
        r"\bmi <rel>(?: \w+)? se (?:ha mudado|mudó) a (?P<o>.+)",
        "changes",
    ),
    (
        "works_at",
        "work",
        r"\bmi <rel>(?: \w+)? (?:ahora )?trabaja (?:ahora )?en (?P<o>.+)",
    ),
    ("is_named", "identity", r"\bmi <rel> se llama (?P<o>.+)"),
    (
        "has",
        "possession",
        (
            r"\btengo (?P<o>(?:una?|dos|tres|cuatro)"
            r" (?:perr[oa]s?|gat[oa]s?|hij[oa]s?|herman[oa]s?|coche|casa|bicicleta|moto)\b.*)"
        ),
    ),
    (
        "attribute",
        "identity",
        r"\bmi (?:nuev[oa] )?<prop> (?:ahora )?es (?P<o>.+)",
    ),
    (
        "job",
        "work",
        rf"\bsoy (?:ahora |una? )?(?P<o>{_JOBS})\b",
    ),
    ("went_to", "event", r"\b(?:fui|fuimos|viajé|viajamos) a (?P<o>.+)"),
    ("bought", "event", r"\b(?:compré|me compré|he comprado) (?P<o>.+)"),
]

SPANISH = LanguageTable(
    code="es",
    cue=(
        r"\b(?:vivo|trabajo|me (?:llamo|he \w+|mud\w+|gustan?|encantan?|cas[eé])|mi \w+(?: \w+ \w+| \w+)? es|mi (?:nombre|color"
        r"|herman\w|madre|padre|mujer|marido"
        r"|hij\w|jef\w|espos\w|novi\w|perr\w|gat\w|\w+ favorit\w)|tengo|odio|hablo|soy|estudio|adoro|yo|fui|fuimos|viajé"
        r"|viajamos|compré|nos mudamos|he dejado"
        r"|dejé|estoy)\b"
    ),
    hypothetical=(
        r"\b(?:si|quisiera|quiero|querría|gustaría|tal vez|quizás?|ojalá|podría|sería|pienso|planeo|espero|imagina|supongamos"
        r"|sueño)\b|\b(?:dice|dijo) que\b"
    ),
    relatives={
        "hermana": "sister", "hermano": "brother", "madre": "mother", "padre": "father", "mamá": "mother", "papá": "father",
        "mujer": "wife", "esposa": "wife", "marido": "husband", "esposo": "husband", "novia": "girlfriend", "novio": "boyfriend",
        "hija": "daughter", "hijo": "son", "abuela": "grandmother", "abuelo": "grandfather", "jefe": "boss", "jefa": "boss",
        "perro": "dog", "gato": "cat", "amigo": "friend", "amiga": "friend",
    },
    favorites={
        "color": "color", "comida": "food", "película": "movie", "libro": "book", "deporte": "sport", "bebida": "drink",
        "animal": "animal", "ciudad": "city",
    },
    properties={
        "jefe": "manager", "jefa": "manager", "cumpleaños": "birthday", "teléfono": "phone", "número de teléfono": "phone",
        "dirección": "address", "correo": "email", "correo electrónico": "email", "médico": "doctor", "dentista": "dentist",
        "sueldo": "salary", "profesión": "job",
    },
    forms=_FORMS,
)  # fmt: skip
