"""People by name, losses and what is nobody's fact, told alike in six languages."""

from __future__ import annotations

import pytest

from engrams import MemoryEngine
from engrams.core import Kind, Turn
from engrams.testing import temp_engine
from engrams.text.times import detect_language

ANN = ("user", "ann")


def learn(memory: MemoryEngine, text: str) -> list[tuple[str, str, str]]:
    """Say something and list the triples of what was learned from it."""
    memory.observe(Turn(text), scope=ANN)
    assert memory.drain(30)
    page = memory.list(scope=ANN, kinds=(Kind.FACT, Kind.PREFERENCE), limit=50)
    return [(record.subject, record.predicate, record.object) for record in page.records]


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("Our kids are Emil (9) and Nora (6)", {("child", "Emil", "9"), ("child", "Nora", "6")}),
        (
            "We have three children: Ada, Finn and Rosa",
            {("child", "Ada", ""), ("child", "Rosa", "")},
        ),
        ("Unsere Töchter heißen Mia (4) und Lena (7)", {("daughter", "Lena", "7")}),
        ("Ich habe zwei Söhne, Ben und Theo", {("son", "Ben", ""), ("son", "Theo", "")}),
        ("Mis hijos son Leo (3) y Marta (5)", {("child", "Leo", "3"), ("child", "Marta", "5")}),
        ("Nous avons deux chiens, Nuage et Soleil", {("dog", "Nuage", ""), ("dog", "Soleil", "")}),
        ("我们的孩子叫小明（9岁）和小红（6岁）", {("child", "小明", "9"), ("child", "小红", "6")}),
        (
            "子供はレン（3歳）とアオイ（5歳）です",
            {("child", "レン", "3"), ("child", "アオイ", "5")},
        ),
    ],
)
def test_each_of_the_people_who_are_named_is_a_fact(
    text: str, people: set[tuple[str, str, str]]
) -> None:
    """Several names in one clause are several facts, with the age that stands beside each."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        triples = learn(memory, text)
    for relation, name, age in people:
        assert ("user", relation, name) in triples, triples
        assert not age or (name, "age", age) in triples, triples


@pytest.mark.parametrize(
    "text",
    [
        "My parents are German and Irish",
        "Meine Kinder sind Schüler und Studenten",
        "我爸爸是医生",
        "母は教師です",
        "我的上司是院长",
        "我舅妈叫张雅静",
    ],
)
def test_what_people_are_is_no_name(text: str) -> None:
    """A nationality or a job behind "is" names nobody, and an aunt is no mother."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        triples = learn(memory, text)
    relations = {"child", "father", "mother", "manager", "parents"}
    assert not [triple for triple in triples if triple[0] == "user" and triple[1] in relations]


@pytest.mark.parametrize(
    ("text", "diet"),
    [
        ("I've decided to go vegan", "vegan"),
        ("i've decided to be vegetarian. no fish either", "vegetarian"),
        ("Ich habe beschlossen, vegan zu leben", "vegan"),
        ("Al final he decidido ser vegetariana.", "vegetariana"),
        ("J'ai décidé de devenir végétarienne", "végétarienne"),
    ],
)
def test_a_decision_to_eat_otherwise_is_a_diet(text: str, diet: str) -> None:
    """It ends the diet before it; who has not decided, or for a week, has none."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        assert ("user", "diet", diet) in learn(memory, text)


@pytest.mark.parametrize(
    "text",
    [
        "I haven't decided to go vegan",
        "I decided to go vegan for a week",
        "My therapist moved to Tuesdays",
        "I left my charger at work",
        "I left work at 5",
        "I can't stand up straight since the gym",
        "I drive my husband mad",
        "I'm married to my job",
        "Je viens de manger une pomme, c'était bon",
        "Je viens d'appeler le médecin",
        "J'ai quitté mon mari en mars",
        "Ya no soy vegano, lo dejé en enero.",
        "我叫外卖了",
        "我住酒店三天",
        "我在家工作",
        "我来自一个大家庭",
        "我喜欢你",
        "今日は食べません",
        "母は今買い物です",
        "Me llamo por teléfono con ella",
        "Trabajo en ello",
        "Me encanta tu idea",
        "Je m'appelle un taxi",
        "Je travaille chez moi",
        "Ich heiße dich willkommen",
        "Ich bin 34 Minuten zu spät",
        "Ich mag deinen Plan",
        "Ich komme aus dem Büro",
        "Ich bin nach Hause gezogen",
        "Ich bin nach Rom gefahren",
        "Ich bin in Eile",
        "Ich mag dich",
    ],
)
def test_a_form_of_speech_tells_nothing_of_the_speaker(text: str) -> None:
    """What only looks like a home, an employer, a liking, a car or a spouse is none."""
    known = {
        *("from", "works_at", "lives_in", "went_to", "likes", "drives", "married_to"),
        *("is_named", "is", "eats", "age", "studies"),
    }
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        triples = learn(memory, text)
    assert not [triple for triple in triples if triple[1] in known]
    assert "vegan" not in [value for _, predicate, value in triples if predicate == "diet"]


@pytest.mark.parametrize(
    ("text", "town"),
    [
        ("Ma tante a déménagé à Brest", "Brest"),
        ("Mon frère a déménagé le canapé à la cave", ""),
        ("姉が松山に引っ越しました", "松山"),
        ("兄は転勤で高松にいます", "高松"),
        ("父が広島に帰ってきました", "広島"),
        ("父が出張から広島に帰ってきました", ""),
        ("母が家に帰ってきました", ""),
    ],
)
def test_a_relatives_move_names_the_town(text: str, town: str) -> None:
    """Who comes home from a journey, or moves a thing, has moved nowhere."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        towns = [value for _, predicate, value in learn(memory, text) if predicate == "lives_in"]
    assert towns == [town] * bool(town)


@pytest.mark.parametrize("text", ["我妈妈今年71岁，住在苏州", "我哥哥王强住在杭州，在华为工作"])
def test_a_relatives_home_is_not_the_speakers_in_chinese(text: str) -> None:
    """What follows in the sentence is still about the relative."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        assert not [
            triple
            for triple in learn(memory, text)
            if triple[:2] in (("user", "lives_in"), ("user", "works_at"), ("user", "age"))
        ]


@pytest.mark.parametrize(
    "text",
    [
        "It is cancer.",
        "Her father died in March.",
        "Mum has dementia now.",
        "Es ist Krebs.",
        "Ihr Vater ist im März gestorben.",
        "Es cáncer.",
        "Perdimos al bebé.",
        "C'est un cancer.",
        "Ma grand-mère est décédée dimanche",
        "是癌症。",
        "她父亲三月去世了。",
        "昨夜父が亡くなりました。",
        "癌です。",
    ],
)
def test_a_loss_or_an_illness_is_kept_at_once(text: str) -> None:
    """It needs to be told once, in the words of whoever told it, and a search finds it."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        assert learn(memory, text)
        hits = memory.search(text, scope=ANN).hits
        assert any(fact.kind is Kind.FACT for hit in hits for fact in (hit.record, *hit.facts))


@pytest.mark.parametrize(
    "text",
    [
        "Draft an email: Hi Bob, I quit my job at Acme yesterday",
        "My D&D character is a vegan elf who lives in Neverwinter",
        "Entwirf eine E-Mail: Hallo Bob, ich habe gestern bei Acme gekündigt",
        "Meine Rollenspielfigur ist vegan und wohnt in Niewinter",
        "Schreib ein Lied darüber, dass ich Berlin liebe",
        "Redacta un correo: Hola Bob, ayer dejé mi trabajo en Acme",
        "En mi novela soy una viuda con tres hijos",
        "Mon personnage de jeu de rôle est végane et vit à Neverwinter",
        "Fais comme si j'avais 80 ans et que je vivais seul",
        "如果我住在罗马，我每天都吃披萨",
        "我的游戏角色吃素，住在无冬城",
        "写一首歌，讲我爱柏林",
        "メールを書いて：ボブさん、昨日アクメを辞めました",
        "私がオスロの医者だと想像して",
    ],
)
def test_roles_drafts_and_conditions_are_nobodys_facts(text: str) -> None:
    """What a role, a draft, a song or a condition says is not told of the speaker."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        assert learn(memory, text) == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Es cáncer.", "es"),
        ("Soy celíaca", "es"),
        ("Tuvimos que sacrificar a nuestro perro Rex", "es"),
        ("Uso gafas", "es"),
        ("Ma sœur vit à Nice", "fr"),
        ("Maman a une démence maintenant.", "fr"),
        ("Je suis cœliaque", "fr"),
        ("Unser Hund Rex musste eingeschläfert werden", "de"),
        ("Ich wohne in Köln", "de"),
        ("My sister's name is Renée", "en"),
        ("We moved to Málaga", "en"),
        ("I work as a nurse.", "en"),
        ("I bambini vanno a scuola con la nonna", "it"),
    ],
)
def test_the_language_of_a_short_sentence_is_told(text: str, language: str) -> None:
    """Letters that only some languages write count beside frequent words."""
    assert detect_language(text) == language


def test_a_subject_of_two_is_quoted_whole() -> None:
    """Who is joined to "I" stays in the words of the statement."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        learn(memory, "My partner Stephen and I celebrated five years together on May 20")
        texts = [record.text for record in memory.list(scope=ANN, kinds=(Kind.FACT,)).records]
    assert texts == ["My partner Stephen and I celebrated five years together on May 20"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Isaac is allergic to hazelnuts, we carry an EpiPen", "Isaac is allergic to hazelnuts"),
        ("Isaak ist allergisch gegen Haselnüsse", "Isaak ist allergisch gegen Haselnüsse"),
        (
            "Isaac es alérgico a las avellanas, llevamos siempre un EpiPen",
            "Isaac es alérgico a las avellanas",
        ),
        (
            "Isaac est allergique aux noisettes, nous avons toujours un EpiPen",
            "Isaac est allergique aux noisettes",
        ),
        ("我儿子对榛子过敏，我们随身带着肾上腺素笔", "我儿子对榛子过敏"),
        ("息子はヘーゼルナッツのアレルギーがあります", "アレルギー"),
        ("I take my pills after meals", "after meals"),
        ("Ich nehme meine Tabletten nach dem Essen", "nach dem Essen"),
        ("Tomo mis pastillas después de comer", "después de comer"),
        ("Je prends mes médicaments après le repas", "après le repas"),
        ("我饭后吃药", "饭后吃药"),
        ("私は食後に薬を飲んでいます", "食後"),
        ("My best friend killed himself last year", "killed himself"),
        ("Mein Bruder hat sich das Leben genommen", "das Leben genommen"),
    ],
)
def test_what_health_hangs_on_is_learned(text: str, words: str) -> None:
    """The allergy of somebody named, when a medicine is taken, the death of a friend."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        learn(memory, text)
        texts = [record.text for record in memory.list(scope=ANN, kinds=(Kind.FACT,)).records]
    assert any(words in learned for learned in texts), texts


def test_a_named_thing_is_no_person_with_an_allergy() -> None:
    """What a tool is says nothing of the speaker."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        assert learn(memory, "Python is great, so we had fun") == []


def test_news_among_friends_is_learned_and_their_feelings_are_not() -> None:
    """What a friend remembers in a month, out of ordinary talk."""
    talk = (
        "Hey Ruth! I've been painting for seven years now and it calms me down. My daughter turned five"
        " last week! We adopted a pup, Oscar. It reminded me how lucky we are."
    )
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        learn(memory, talk)
        texts = {record.text for record in memory.list(scope=ANN, kinds=(Kind.FACT,)).records}
    assert texts == {
        "I've been painting for seven years now",
        "My daughter turned five last week",
        "We adopted a pup, Oscar",
    }


@pytest.mark.parametrize(
    ("text", "triple"),
    [
        ("I can't stand coriander.", ("user", "likes", "coriander")),
        ("No soporto el cilantro", ("user", "likes", "cilantro")),
        ("Je ne supporte pas la coriandre.", ("user", "likes", "coriandre")),
        ("Ich kann Koriander nicht ausstehen.", ("user", "likes", "Koriander")),
        ("Ya no como carne.", ("user", "eats", "carne")),
        ("Je ne mange plus de viande.", ("user", "eats", "viande")),
        ("我不再吃肉了", ("user", "eats", "肉")),
        ("コーヒーはもう飲みません", ("user", "drinks", "コーヒー")),
        ("I don't eat gluten any more", ("user", "eats", "gluten")),
        ("Elena is vegan but eats honey", ("Elena", "diet", "vegan")),
        ("I'm thinking of getting solar panels", ("user", "considers", "getting solar panels")),
    ],
)
def test_what_somebody_cannot_stand_or_takes_no_more_is_learned(
    text: str, triple: tuple[str, str, str]
) -> None:
    """A dislike, what is eaten and drunk no more, and a diet with an exception are understood."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        assert triple in learn(memory, text)


@pytest.mark.parametrize(
    "text", ["Tofu is vegan and tastes great.", "No como en casa hoy.", "我不吃了。"]
)
def test_food_today_and_no_thing_tell_no_diet(text: str) -> None:
    """What is said of a dish, of today, or of nothing is no diet of anybody."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        assert learn(memory, text) == []


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Hablo un poco de alemán.", "alemán"),
        ("También hablo portugués.", "portugués"),
        ("Hablo de mi madre a menudo.", ""),
        ("Hablo con mi hermana los domingos.", ""),
        ("Hablo mucho.", ""),
        ("Je parle l'arabe.", "arabe"),
        ("Je parle un peu espagnol.", "espagnol"),
        ("Je parle de politique avec mon frère.", ""),
        ("Je parle d'amour.", ""),
        ("Ich spreche ein bisschen Dänisch.", "Dänisch"),
        ("Ich spreche über meine Arbeit.", ""),
        ("Ich spreche mit meiner Mutter jeden Sonntag.", ""),
    ],
)
def test_whom_and_what_one_speaks_of_is_no_language(text: str, spoken: str) -> None:
    """Only the language that somebody speaks is the value of that slot."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        triples = learn(memory, text)
    languages = [value for _, predicate, value in triples if predicate == "speaks"]
    assert languages == ([spoken] if spoken else [])


@pytest.mark.parametrize(
    "text",
    [
        "mon frère m'a dit qu'il allait vendre sa voiture mais je le crois pas",
        "Mein Bruder hat gesagt er zieht zu mir, aber ich glaub ihm nicht",
        "mi hermano dice que se muda conmigo pero no le creo",
        "my brother says my house is sinking but I don't believe him",
        'I said to my boss "I quit" in my head about a hundred times today',
    ],
)
def test_what_its_teller_does_not_believe_is_no_fact(text: str) -> None:
    """A report that is doubted in the same breath, and what was only imagined."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        assert learn(memory, text) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Am 4. habe ich die Prüfung in Anatomie und danach fahre ich nach Kiel",
            "Am 4. habe ich die Prüfung in Anatomie und danach fahre ich nach Kiel",
        ),
        (
            "mi abuela se murió en julio y le dejó la casa a mi tía",
            "mi abuela se murió en julio y le dejó la casa a mi tía",
        ),
        (
            "On livre la v2 le 15 et après je prends deux semaines de congé",
            "On livre la v2 le 15 et après je prends deux semaines de congé",
        ),
    ],
)
def test_what_hangs_on_the_words_before_stays_with_them(text: str, words: str) -> None:
    """A day before its clause, a subject told once, and "after that" are not cut off."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        learn(memory, text)
        facts = memory.list(scope=ANN, kinds=(Kind.FACT,), limit=50).records
    assert [record.text for record in facts] == [words]


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("my mom's birthday is May 3 and my dad's is November 20", "my dad's is"),
        ("I can't do Friday, I have my knee surgery then", "I have my knee surgery"),
        ("she's been my best friend since primary school", "she's been"),
        ("so yesterday was wild we ended up at Jonas place till 4", "was wild"),
    ],
)
def test_a_piece_that_cannot_stand_alone_is_no_fact(text: str, opening: str) -> None:
    """It says "she", "then" or "my dad's" of what only the words before name."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        learn(memory, text)
        facts = memory.list(scope=ANN, kinds=(Kind.FACT,), limit=50).records
    assert not [record.text for record in facts if record.text.startswith(opening)]


def test_what_holds_under_a_condition_has_no_triple_without_it() -> None:
    """Who eats fish in Japan only is not told to eat fish."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        assert learn(memory, "I eat fish when I'm in Japan") == [("user", "", "")]


def test_a_migration_of_last_week_is_no_standing_rule() -> None:
    """What was done on a day, and what follows on another, is told of the project, not ordered."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        memory.observe(
            Turn("we switched the staging db to postgres 16 last week and prod follows on march 9"),
            scope=ANN,
        )
        assert memory.drain(30)
        assert not memory.list(scope=ANN, kinds=(Kind.RULE,)).records


@pytest.mark.parametrize(
    "text", ["先週の土曜日に引っ越しました", "I gave up my seat on the school board"]
)
def test_a_day_is_no_home_and_a_post_no_liking(text: str) -> None:
    """Who moved on a Saturday has no new home, and who gave up a seat liked none."""
    with temp_engine(jobs__workers=0, embed__provider="null") as memory:
        assert not [triple for triple in learn(memory, text) if triple[1]]
