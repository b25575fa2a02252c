"""The sentence forms of ``foreign``: data. Each row: predicate, category, pattern, the sentence about a third person, marks."""

from __future__ import annotations

USERS = {"de": "der Nutzer", "es": "el usuario", "fr": "l'utilisateur", "zh": "用户"}

CUES = {
    "de": r"\b(?:ich|mein|meine|meinen|meiner|wir)\b",
    "es": (
        r"\b(?:vivo|trabajo|me (?:llamo|mud\w+|gustan?|encantan?|cas[eé])|mi \w+(?: \w+ \w+| \w+)? es|mi (?:nombre|color"
        r"|herman\w|madre|padre|mujer|marido"
        r"|hij\w|jef\w|espos\w|novi\w|perr\w|gat\w|\w+ favorit\w)|tengo|odio|hablo|soy|estudio|adoro|yo|fui|fuimos|viajé"
        r"|viajamos|compré|nos mudamos|he dejado"
        r"|dejé|estoy)\b"
    ),
    "fr": r"\b(?:je|j['’]\w|mon|ma|mes)\b|\bj['’]",
    "zh": r"[我俺]",
}
HYPOTHETICAL = {
    "de": (
        r"\b(?:würde|würden|wäre|könnte|hätte|wenn|falls|vielleicht|möchte|will|wollte|hoffe|überlege|träume|plane|nehmen wir an"
        r"|stell dir vor)\b|\b(?:er|sie|man) (?:sagt|sagte|meint|meinte)\b"
    ),
    "es": (
        r"\b(?:si|quisiera|quiero|querría|gustaría|tal vez|quizás?|ojalá|podría|sería|pienso|planeo|espero|imagina|supongamos"
        r"|sueño)\b|\b(?:dice|dijo) que\b"
    ),
    "fr": (
        r"\b(?:si|voudrais|aimerais|peut-être|veux|pourrais|serais|souhaite|espère|envisage|imagine|supposons|rêve)\b|\b(?:dit"
        r"|disait) que\b"
    ),
    "zh": r"如果|要是|假如|可能|也许|或许|想(?!念)|打算|希望|应该|会不会|是不是|假设|梦见|他说|她说|计划|考虑",
}

RELATIVES = {
    "de": {
        "schwester": "sister", "bruder": "brother", "mutter": "mother", "vater": "father", "mama": "mother", "papa": "father",
        "frau": "wife", "mann": "husband",
        "freundin": "girlfriend", "freund": "boyfriend", "tochter": "daughter", "sohn": "son", "oma": "grandmother", "opa": "grandfather",
        "chef": "boss",
        "chefin": "boss", "hund": "dog", "katze": "cat", "eltern": "parents", "kollege": "colleague", "kollegin": "colleague",
    },
    "es": {
        "hermana": "sister", "hermano": "brother", "madre": "mother", "padre": "father", "mamá": "mother", "papá": "father",
        "mujer": "wife", "esposa": "wife",
        "marido": "husband", "esposo": "husband", "novia": "girlfriend", "novio": "boyfriend", "hija": "daughter", "hijo": "son",
        "abuela": "grandmother",
        "abuelo": "grandfather", "jefe": "boss", "jefa": "boss", "perro": "dog", "gato": "cat", "amigo": "friend", "amiga": "friend",
    },
    "fr": {
        "sœur": "sister", "soeur": "sister", "frère": "brother", "mère": "mother", "père": "father", "maman": "mother", "papa": "father",
        "femme": "wife",
        "mari": "husband", "copine": "girlfriend", "copain": "boyfriend", "fille": "daughter", "fils": "son", "patron": "boss",
        "chien": "dog", "chat": "cat",
        "grand-mère": "grandmother", "grand-père": "grandfather", "ami": "friend", "amie": "friend",
    },
    "zh": {
        "妹妹": "sister", "姐姐": "sister", "哥哥": "brother", "弟弟": "brother",
        "妈妈": "mother", "爸爸": "father", "母亲": "mother", "父亲": "father",
        "妻子": "wife", "老婆": "wife", "太太": "wife",
        "丈夫": "husband", "老公": "husband", "女朋友": "girlfriend", "男朋友": "boyfriend",
        "女儿": "daughter",
        "儿子": "son", "奶奶": "grandmother", "爷爷": "grandfather", "老板": "boss", "狗": "dog", "猫": "cat", "朋友": "friend",
    },
}  # fmt: skip

FAVORITES = {
    "farbe": "color", "essen": "food", "film": "movie", "buch": "book", "band": "band", "sport": "sport", "getränk": "drink",
    "tier": "animal", "stadt": "city",
    "color": "color", "comida": "food", "película": "movie", "libro": "book", "deporte": "sport", "bebida": "drink", "animal": "animal",
    "ciudad": "city",
    "couleur": "color", "plat": "food", "livre": "book", "boisson": "drink", "ville": "city",
    "颜色": "color", "食物": "food", "菜": "food", "电影": "movie",
    "书": "book", "运动": "sport", "饮料": "drink", "动物": "animal", "城市": "city",
    "歌手": "singer",
}  # fmt: skip

PROPERTIES = {
    "chef": "manager", "chefin": "manager", "geburtstag": "birthday", "telefonnummer": "phone", "handynummer": "phone", "nummer": "phone",
    "adresse": "address", "e-mail": "email", "email": "email", "e-mail-adresse": "email", "zahnarzt": "dentist", "hausarzt": "doctor",
    "vermieter": "landlord",
    "gehalt": "salary", "beruf": "job", "budget": "budget",
    "jefe": "manager", "jefa": "manager", "cumpleaños": "birthday", "teléfono": "phone", "número de teléfono": "phone",
    "dirección": "address",
    "correo": "email", "correo electrónico": "email", "médico": "doctor", "dentista": "dentist", "sueldo": "salary", "profesión": "job",
    "patron": "manager", "anniversaire": "birthday", "numéro": "phone", "numéro de téléphone": "phone", "mail": "email",
    "médecin": "doctor",
    "dentiste": "dentist", "salaire": "salary", "métier": "job",
    "老板": "manager", "上司": "manager", "生日": "birthday", "电话": "phone", "电话号码": "phone",
    "手机号": "phone", "邮箱": "email", "地址": "address",
    "医生": "doctor", "工资": "salary", "职业": "job", "工作": "job", "预算": "budget",
}  # fmt: skip

_NOW = r"(?:jetzt |derzeit |momentan |aktuell |seit \w+(?: \w+)? |auch |immer noch |noch |gerade )*"
_AHORA = r"(?:ahora |ya |actualmente |también |todavía )*"
_MAINT = r"(?:maintenant |actuellement |aussi |toujours |encore |désormais )*"
_ZH = r"(?:现在|目前|已经|也|还|一直|就|刚|昨天|上周|上个月|去年|今年)*"

_GERMAN: list[tuple[str, ...]] = [
    ("lives_in", "home", r"\bich (?:wohne|lebe) (?:jetzt )?nicht mehr in (?P<o>.+)", "{s} wohnt nicht mehr in {o}", "ends"),
    ("works_at", "work", r"\bich arbeite (?:jetzt )?nicht mehr (?:bei|für) (?P<o>.+)", "{s} arbeitet nicht mehr bei {o}", "ends"),
    ("works_at", "work", r"\bich habe (?:meinen job |meine stelle )?(?:bei (?P<o>.+?) )?gekündigt", "{s} hat bei {o} gekündigt", "ends"),
    ("lives_in", "home", r"\bich (?:bin|zog)\b.{0,30}?\bnach (?P<o>.+?)(?: (?:um)?gezogen|$)", "{s} ist nach {o} gezogen", "changes"),
    ("lives_in", "home", r"\bwir (?:sind|zogen)\b.{0,30}?\bnach (?P<o>.+?) (?:um)?gezogen", "{s} ist nach {o} gezogen", "changes"),
    ("lives_in", "home", rf"\bich (?:wohne|lebe) {_NOW}in (?P<o>.+)", "{s} wohnt in {o}"),
    ("works_at", "work", rf"\bich arbeite {_NOW}(?:bei|für) (?P<o>.+)", "{s} arbeitet bei {o}"),
    ("works_at", "work", r"\bich habe bei (?P<o>.+?) angefangen", "{s} hat bei {o} angefangen", "changes"),
    ("job", "work", rf"\bich arbeite {_NOW}als (?P<o>.+)", "{s} arbeitet als {o}"),
    ("job", "work", r"\bich bin (?:jetzt )?(?P<o>\w+(?: \w+)?) von beruf", "{s} ist {o} von Beruf"),
    ("is_named", "identity", r"\bich hei(?:ß|ss)e (?P<o>.+)|\bmein name ist (?P<n>.+)", "{s} heißt {o}"),
    ("age", "identity", r"\bich bin (?:jetzt )?(?P<o>\d{1,3})(?: jahre(?: alt)?)?\b", "{s} ist {o} Jahre alt"),
    ("favorite", "preference", r"\bmeine? lieblings(?P<f>\w+) ist (?:jetzt )?(?P<o>.+)", "Lieblings{f} ist {o} ({s})"),
    ("likes", "preference", r"\bich (?:mag|liebe|esse|trinke) (?:gar |überhaupt )?kein(?:e|en)? (?P<o>.+)", "{s} mag {o} nicht", "no"),
    ("likes", "preference", r"\bich (?:mag|liebe) (?P<o>.+?) (?:gar |überhaupt )?nicht(?: mehr)?(?: gern)?$", "{s} mag {o} nicht", "no"),
    ("likes", "preference", r"\bich (?:hasse|verabscheue) (?P<o>.+)", "{s} hasst {o}", "no"),
    ("likes", "preference", r"\bich (?:mag|liebe) (?:auch |sehr |jetzt )?(?P<o>.+)", "{s} mag {o}"),
    ("speaks", "language", r"\bich spreche (?:auch |fließend |gut )*(?P<o>.+)", "{s} spricht {o}"),
    ("from", "identity", r"\bich komme (?:ursprünglich )?aus (?P<o>.+)", "{s} kommt aus {o}"),
    ("allergic_to", "health", r"\bich bin allergisch (?:gegen|auf) (?P<o>.+)", "{s} ist allergisch gegen {o}"),
    ("married_to", "family", r"\bich bin (?:jetzt )?mit (?P<o>.+?) verheiratet", "{s} ist mit {o} verheiratet"),
    ("diet", "health", r"\bich bin (?:jetzt )?(?P<o>vegan|vegetarisch|veganer(?:in)?|vegetarier(?:in)?)\b", "{s} ist {o}"),
    ("studies", "education", r"\bich studiere (?:jetzt )?(?P<o>.+)", "{s} studiert {o}"),
    ("lives_in", "home", r"\bmeine? <rel>(?: \w+)? (?:wohnt|lebt) (?:jetzt )?in (?P<o>.+)", "{s} wohnt in {o}"),
    ("works_at", "work", r"\bmeine? <rel>(?: \w+)? arbeitet (?:jetzt )?bei (?P<o>.+)", "{s} arbeitet bei {o}"),
    ("is_named", "identity", r"\bmeine? <rel> hei(?:ß|ss)t (?P<o>.+)", "{s} heißt {o}"),
    (
        "has",
        "possession",
        (
            r"\bich habe (?P<o>(?:eine?n?|zwei|drei|vier) (?:\w+ )?(?:hund|hunde|katzen?|sohn|tochter|töchter|söhne|kinder|kind"
            r"|schwestern?|bruder|brüder|auto|haus|fahrrad|garten)\b.*)"
        ),
        "{s} hat {o}",
    ),
    ("attribute", "identity", r"\bmein(?:e|en)? (?:neue[rs]? )?<prop> (?:ist|lautet)(?: jetzt)? (?P<o>.+)", "{f} ({s}): {o}"),
    (
        "job",
        "work",
        (
            r"\bich bin (?:jetzt |eine? )?(?P<o>(?:lehrer|arzt|ärztin|ingenieur|entwickler|programmierer|krankenschwester"
            r"|pfleger|koch|köchin|anwalt|anwältin"
            r"|student|designer|architekt|verkäufer|berater|journalist|künstler|musiker|polizist|mechaniker|bäcker|friseur"
            r"|kellner|professor|buchhalter)(?:in)?)\b"
        ),
        "{s} ist {o}",
    ),
    ("went_to", "event", r"\bich (?:war|bin)\b.{0,25}?\bin (?P<o>[A-ZÄÖÜ]\w+)(?: gewesen)?$", "{s} war in {o}"),
    ("bought", "event", r"\bich habe (?:mir )?(?P<o>.+?) gekauft", "{s} hat {o} gekauft"),
]

_SPANISH: list[tuple[str, ...]] = [
    ("lives_in", "home", r"\bya no vivo en (?P<o>.+)", "{s} ya no vive en {o}", "ends"),
    (
        "works_at",
        "work",
        r"\bya no trabajo (?:en|para) (?P<o>.+)|\b(?:dejé|he dejado) (?:mi trabajo en )?(?P<n>[A-ZÁÉÍÓÚ].+)",
        "{s} ya no trabaja en {o}",
        "ends",
    ),
    ("lives_in", "home", r"\b(?:me mudé|me he mudado|nos mudamos|nos hemos mudado)\b.{0,20}?\ba (?P<o>.+)", "{s} se mudó a {o}", "changes"),
    ("lives_in", "home", rf"(?<!no )\bvivo {_AHORA}en (?P<o>.+)", "{s} vive en {o}"),
    ("job", "work", rf"\btrabajo {_AHORA}(?:como|de) (?P<o>.+)", "{s} trabaja como {o}"),
    ("works_at", "work", rf"(?<!no )\b{_AHORA}trabajo {_AHORA}(?:en|para) (?P<o>.+)", "{s} trabaja en {o}"),
    ("works_at", "work", r"\b(?:empecé|he empezado) a trabajar en (?P<o>.+)", "{s} empezó a trabajar en {o}", "changes"),
    ("is_named", "identity", r"\bme llamo (?P<o>.+)|\bmi nombre es (?P<n>.+)", "{s} se llama {o}"),
    ("age", "identity", r"\btengo (?P<o>\d{1,3}) años", "{s} tiene {o} años"),
    ("favorite", "preference", r"\bmi (?P<f>\w+) favorit[oa] (?:ahora )?es (?P<o>.+)", "{f} favorito de {s}: {o}"),
    ("likes", "preference", r"\b(?:no me gustan?|odio|detesto|ya no me gustan?) (?P<o>.+)", "A {s} no le gusta {o}", "no"),
    ("likes", "preference", r"\b(?:me (?:gustan?|encantan?)|adoro|amo) (?:mucho )?(?P<o>.+)", "A {s} le gusta {o}"),
    ("speaks", "language", r"\bhablo (?:también |bien )*(?P<o>.+)", "{s} habla {o}"),
    ("from", "identity", r"\b(?:yo )?soy de (?P<o>.+)", "{s} es de {o}"),
    ("allergic_to", "health", r"\bsoy alérgic[oa] a (?:los |las |la |el )?(?P<o>.+)", "{s} es alérgico a {o}"),
    ("diet", "health", r"\bsoy (?:ahora )?(?P<o>vegan[oa]|vegetarian[oa])\b", "{s} es {o}"),
    ("married_to", "family", r"\b(?:estoy casad[oa] con|me casé con) (?P<o>.+)", "{s} está casado con {o}"),
    ("studies", "education", r"\bestudio (?P<o>.+)", "{s} estudia {o}"),
    ("lives_in", "home", r"\bmi <rel>(?: \w+)? (?:ahora )?vive (?:ahora )?en (?P<o>.+)", "{s} vive en {o}"),
    ("works_at", "work", r"\bmi <rel>(?: \w+)? (?:ahora )?trabaja (?:ahora )?en (?P<o>.+)", "{s} trabaja en {o}"),
    ("is_named", "identity", r"\bmi <rel> se llama (?P<o>.+)", "{s} se llama {o}"),
    (
        "has",
        "possession",
        r"\btengo (?P<o>(?:una?|dos|tres|cuatro) (?:perr[oa]s?|gat[oa]s?|hij[oa]s?|herman[oa]s?|coche|casa|bicicleta|moto)\b.*)",
        "{s} tiene {o}",
    ),
    ("attribute", "identity", r"\bmi (?:nuev[oa] )?<prop> (?:ahora )?es (?P<o>.+)", "{f} ({s}): {o}"),
    (
        "job",
        "work",
        (
            r"\bsoy (?:ahora |una? )?(?P<o>profesora?|médic[oa]|enfermer[oa]|ingenier[oa]|abogad[oa]|programador[a]?|estudiante"
            r"|diseñadora?|arquitect[oa]"
            r"|periodista|cociner[oa]|camarer[oa]|artista|músic[oa]|conductora?|contadora?|traductora?|maestr[oa])\b"
        ),
        "{s} es {o}",
    ),
    ("went_to", "event", r"\b(?:fui|fuimos|viajé|viajamos) a (?P<o>.+)", "{s} fue a {o}"),
    ("bought", "event", r"\b(?:compré|me compré|he comprado) (?P<o>.+)", "{s} compró {o}"),
]

_FRENCH: list[tuple[str, ...]] = [
    (
        "lives_in",
        "home",
        r"\bje n['’](?:habite|vis) plus (?:à|en|au|aux) (?P<o>.+)|\bje ne vis plus (?:à|en|au) (?P<n>.+)",
        "{s} n'habite plus à {o}",
        "ends",
    ),
    (
        "works_at",
        "work",
        r"\bje ne travaille plus (?:chez|pour) (?P<o>.+)|\bj['’]ai quitté (?P<n>[A-Z].+)",
        "{s} ne travaille plus chez {o}",
        "ends",
    ),
    (
        "lives_in",
        "home",
        r"\b(?:j['’]ai déménagé|nous avons déménagé|je viens de déménager|je me suis installée?)\b.{0,20}?\b(?:à|en|au) (?P<o>.+)",
        "{s} a déménagé à {o}",
        "changes",
    ),
    ("lives_in", "home", rf"\b(?:j['’]habite|je vis) {_MAINT}(?:à|en|au|aux) (?P<o>.+)", "{s} habite à {o}"),
    ("works_at", "work", rf"\bje travaille {_MAINT}(?:chez|pour) (?P<o>.+)", "{s} travaille chez {o}"),
    ("job", "work", rf"\bje travaille {_MAINT}comme (?P<o>.+)", "{s} travaille comme {o}"),
    ("works_at", "work", r"\bj['’]ai commencé (?:à travailler )?chez (?P<o>.+)", "{s} a commencé chez {o}", "changes"),
    ("is_named", "identity", r"\bje m['’]appelle (?P<o>.+)|\bmon nom est (?P<n>.+)", "{s} s'appelle {o}"),
    ("age", "identity", r"\bj['’]ai (?:maintenant )?(?P<o>\d{1,3}) ans", "{s} a {o} ans"),
    ("favorite", "preference", r"\bm(?:on|a) (?P<f>\w+) préférée? (?:est|c['’]est) (?:maintenant )?(?P<o>.+)", "{f} préféré de {s} : {o}"),
    ("likes", "preference", r"\b(?:je n['’]aime (?:pas|plus)(?: du tout)?|je déteste) (?P<o>.+)", "{s} n'aime pas {o}", "no"),
    ("likes", "preference", r"\bj['’](?:aime|adore) (?:bien |beaucoup |aussi )?(?P<o>.+)", "{s} aime {o}"),
    ("speaks", "language", r"\bje parle (?:aussi |couramment )*(?P<o>.+)", "{s} parle {o}"),
    ("from", "identity", r"\bje viens d(?:e |u |['’])(?P<o>[A-ZÀ-Ý].+)", "{s} vient de {o}"),
    ("allergic_to", "health", r"\bje suis allergique (?:à |aux |au )(?P<o>.+)", "{s} est allergique à {o}"),
    ("diet", "health", r"\bje suis (?:maintenant )?(?P<o>végane?|végétarien(?:ne)?|végétalien(?:ne)?)\b", "{s} est {o}"),
    ("married_to", "family", r"\bje suis mariée? (?:à|avec) (?P<o>.+)|\bj['’]ai épousé (?P<n>.+)", "{s} est marié à {o}"),
    ("studies", "education", r"\bj['’]étudie (?P<o>.+)", "{s} étudie {o}"),
    ("lives_in", "home", r"\bm(?:on|a) <rel>(?: \w+)? (?:habite|vit) (?:maintenant )?(?:à|en|au) (?P<o>.+)", "{s} habite à {o}"),
    ("works_at", "work", r"\bm(?:on|a) <rel>(?: \w+)? travaille (?:maintenant )?chez (?P<o>.+)", "{s} travaille chez {o}"),
    ("is_named", "identity", r"\bm(?:on|a) <rel> s['’]appelle (?P<o>.+)", "{s} s'appelle {o}"),
    (
        "has",
        "possession",
        r"\bj['’]ai (?P<o>(?:une?|deux|trois|quatre) (?:chiens?|chats?|fils|filles?|enfants?|frères?|sœurs?|voiture|maison|vélo|moto)\b.*)",
        "{s} a {o}",
    ),
    ("attribute", "identity", r"\bm(?:on|a) (?:nouve(?:au|l|lle) )?<prop> (?:est|c['’]est) (?P<o>.+)", "{f} ({s}) : {o}"),
    (
        "job",
        "work",
        (
            r"\bje suis (?:maintenant |une? )?(?P<o>professeure?|médecin|infirmi(?:er|ère)|ingénieure?|avocate?|développeu(?:r"
            r"|se)|étudiante?|designer|architecte"
            r"|journaliste|cuisini(?:er|ère)|serveu(?:r|se)|artiste|musicien(?:ne)?|comptable|traduct(?:eur|rice)|enseignante?)\b"
        ),
        "{s} est {o}",
    ),
    ("went_to", "event", r"\bje suis allée? (?:à|en|au|aux) (?P<o>.+)", "{s} est allé à {o}"),
    ("bought", "event", r"\bj['’]ai acheté (?P<o>.+)", "{s} a acheté {o}"),
]

_CHINESE: list[tuple[str, ...]] = [
    ("lives_in", "home", r"我(?:已经|现在)?不(?:再)?住在?(?P<o>[^，。！？]+?)了?$", "{s}不再住在{o}", "ends"),
    (
        "works_at",
        "work",
        r"我(?:已经|现在)?(?:不(?:再)?在(?P<o>[^，。！？]+?)(?:工作|上班)了?|(?:从(?P<n>[^，。！？]+?))?(?:辞职|离职)了?)",
        "{s}不再在{o}工作",
        "ends",
    ),
    ("lives_in", "home", rf"我(?:们)?{_ZH}搬(?:家)?(?:到|去)了?(?P<o>[^，。！？了]+)", "{s}搬到了{o}", "changes"),
    ("lives_in", "home", rf"我{_ZH}(?:住在?|家在|定居在?)(?P<o>[^，。！？]+)", "{s}住在{o}"),
    ("works_at", "work", rf"我{_ZH}在(?P<o>[^，。！？]+?)(?:工作|上班)", "{s}在{o}工作"),
    ("works_at", "work", rf"我{_ZH}(?:加入|入职)了?(?P<o>[^，。！？了]+)", "{s}加入了{o}", "changes"),
    ("is_named", "identity", r"我(?:的名字)?(?:叫|是叫)(?P<o>[^，。！？]{1,12})|我的名字是(?P<n>[^，。！？]{1,12})", "{s}叫{o}"),
    ("age", "identity", r"我(?:今年|现在)?(?P<o>\d{1,3})岁", "{s}{o}岁"),
    ("favorite", "preference", r"我最喜欢的(?P<f>[^，。！？是]{1,6})是(?P<o>[^，。！？]+)", "{s}最喜欢的{f}是{o}"),
    ("likes", "preference", r"我(?:现在|一直|真的|很|非常)*(?:不(?:太|再)?喜欢|讨厌|不爱)(?P<o>[^，。！？]+)", "{s}不喜欢{o}", "no"),
    ("likes", "preference", r"我(?:也|很|非常|特别|真的|一直|最|现在)*(?:喜欢|爱|热爱)(?P<o>[^，。！？]+)", "{s}喜欢{o}"),
    ("speaks", "language", r"我(?:也|还)?会说(?P<o>[^，。！？]+)", "{s}会说{o}"),
    ("allergic_to", "health", r"我对(?P<o>[^，。！？]+?)过敏", "{s}对{o}过敏"),
    ("diet", "health", r"我(?:现在)?(?:是|吃)(?P<o>素食者|纯素|素)", "{s}是{o}"),
    ("from", "identity", r"我(?:是|来自)(?P<o>[^，。！？是]{1,8}?)人$|我来自(?P<n>[^，。！？]+)", "{s}来自{o}"),
    ("married_to", "family", r"我(?:和|跟|与)(?P<o>[^，。！？]+?)结婚了", "{s}和{o}结婚了", "changes"),
    ("lives_in", "home", r"我(?:的)?<rel>(?:现在|也)?(?:住在?|搬到了?)(?P<o>[^，。！？]+)", "{s}住在{o}"),
    ("works_at", "work", r"我(?:的)?<rel>(?:现在|也)?在(?P<o>[^，。！？]+?)(?:工作|上班)", "{s}在{o}工作"),
    ("is_named", "identity", r"我(?:的)?<rel>叫(?P<o>[^，。！？]{1,12})", "{s}叫{o}"),
    ("has", "possession", r"我(?:家)?有(?P<o>(?:一|两|二|三|四|五|\d+)(?:只|条|个|辆|套|匹)[^，。！？]{1,12})", "{s}有{o}"),
    ("attribute", "identity", r"我(?:的)?(?:新)?<prop>(?:现在)?(?:是|：|叫)(?P<o>[^，。！？]+)", "{s}的{f}是{o}"),
    (
        "job",
        "work",
        r"我(?:现在)?(?:是|做|当)(?:一)?(?:名|个|位)?(?P<o>[^，。！？的]{0,6}(?:医生|老师|教师|工程师|律师|护士|学生|设计师|程序员|会计|厨师|司机|记者|作家|教授|经理|演员|歌手|画家|销售|警察))$",
        "{s}是{o}",
    ),
    ("studies_at", "education", rf"我{_ZH}在(?P<o>[^，。！？]+?)(?:读书|上学|念书|读大学|读研)", "{s}在{o}读书"),
    ("graduated_from", "education", r"我(?:毕业于|是从?(?P<n>[^，。！？]+?)毕业)(?P<o>[^，。！？]*)", "{s}毕业于{o}"),
    ("went_to", "event", rf"我(?:们)?(?:{_ZH}|前天|今天|周末|上个周末)*去了(?P<o>[^，。！？]+)", "{s}去了{o}"),
    ("bought", "event", rf"我(?:{_ZH}|前天|今天)*买了(?P<o>[^，。！？]+)", "{s}买了{o}"),
    ("has", "possession", rf"我{_ZH}养了?(?P<o>[^，。！？]{{1,12}})", "{s}养了{o}"),
]

FORMS = {"de": _GERMAN, "es": _SPANISH, "fr": _FRENCH, "zh": _CHINESE}
