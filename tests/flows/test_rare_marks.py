"""Marks are rare and right: a later statement marks only what it is about, however many there are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Hit

ME = ("user", "alice")
START = datetime(2025, 1, 6, 12, tzinfo=UTC)
REPOSITORY = (
    "new service, fastapi + sqlalchemy 2 async + postgres 16. use uv, not poetry. set up the skeleton",
    "make test needs postgres up. I run it in compose on 5433 because 5432 is taken by the system one",
    "errors in the api as problem+json please, with a stable `type` slug, the frontend switches on it",
    "prices are decimal(10,2)",
    "background jobs: celery with redis, for the mails and reminders",
    "CI takes about 14 minutes",
    "write a dockerfile for the worker",
    "that fixed it, thanks",
    "the importer reads csv and xlsx",
    "staging lives on fly.io",
    "add a health endpoint to the worker",
    "never touch a migration that's on main",
    "pdf rendering with weasyprint",
    "mails go out through postmark",
)
NEWS = (
    "redis is one more thing to babysit for 40 jobs a day. rip out celery, use procrastinate",
    "test_webhook_retry is flaky, 1 in 20",
    "mypy is on strict in ci, write X | None not Optional",
    "image uploads: max 5 MB",
    "CI is down to 9 minutes now",
)


def say(memory: MemoryEngine, *lines: str, days: float = 30, minutes: float = 0) -> None:
    """Say lines as one speaker, some time apart."""
    gap = timedelta(minutes=minutes) if minutes else timedelta(days=days)
    for number, line in enumerate(lines):
        memory.observe([Turn(line, at=START + number * gap, session="s")], scope=ME)
    assert memory.drain(60)


def find(memory: MemoryEngine, text: str) -> Hit:
    """Find a message by its own words."""
    return next(hit for hit in memory.search(text, scope=ME).hits if hit.record.text == text)


def is_marked(hit: Hit) -> bool:
    """True if readers are told that a message may be over."""
    return hit.outdated is not None and hit.outdated.is_told


def test_of_many_statements_only_what_is_told_of_is_marked(home: Path) -> None:
    """After a hundred days of a repository, each piece of news marks its own statement alone."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, *REPOSITORY, *NEWS, days=6)
        hits = [hit for text in REPOSITORY for hit in memory.search(text, scope=ME, limit=30).hits]
        marked = {hit.record.text for hit in hits if is_marked(hit)}
    assert marked == {
        "background jobs: celery with redis, for the mails and reminders",
        "CI takes about 14 minutes",
    }


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Our kindergarten has 58 children in three groups", "In August we are closed for three weeks"),
        ("My greyhound is called Biscuit", "Biscuit ate my left shoe. Just the left."),
        ("I run the bookshop with my partner Nadine", "Nadine wants to sell her share one day"),
        ("Emil has football on Mondays.", "I dropped Emil at the station this morning."),
        ("The cleaner comes on Mondays at 9.", "The cleaner broke a vase on Wednesday."),
        ("The team standup is at 9:30.", "I cancelled lunch with the team at 12."),
        ("I have a dog called Bo.", "Bo has a new basket."),
        ("Oscar has football on Mondays.", "I dropped Oscar at the station this morning."),
        ("I live in Oslo.", "A new flat for my sister, finally!"),
        ("Meine Kontonummer ist 555.", "Neue Hausnummer: 12."),
        ("Ich wohne in Graz.", "In Graz gibt es jetzt eine neue Straßenbahn."),
        ("Lucía tiene clase de piano los jueves.", "Lucía dejó la mochila en casa el lunes."),
        ("Léo a judo le mercredi.", "J'ai déposé Léo chez sa grand-mère vendredi."),
    ],
)  # fmt: skip
def test_shared_numbers_names_sides_and_wishes_mark_nothing(
    home: Path, earlier: str, later: str
) -> None:
    """Among many messages a number in common, "left" as a side and a wish are no evidence.

    Nor is an end or something new that is about another thing of the same person.
    """
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, *REPOSITORY[1:], later, days=6)
        assert not is_marked(find(memory, earlier))


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Our API runs on Heroku.", "We migrated the API to Fly.io last night."),
        ("My sister Ruth lives in Leeds.", "Ruth has moved to Cardiff, she loves the sea."),
        ("Ich wohne in Graz.", "Seit März wohne ich in Linz."),
        ("Ich nehme abends Simvastatin", "Simvastatin wurde abgesetzt"),
        ("Das Training ist in der Turnhalle", "Das Training wurde in den Park verlegt"),
        ("Mein Auto ist ein Golf", "Der Golf wurde verkauft"),
        (
            "mein Hausarzt ist Dr. Huber, die Praxis hat mittwochs zu",
            "Dr. Huber geht in Rente, die Praxis übernimmt Frau Dr. Seidl",
        ),
        ("refunds above 200 euros need Marta's ok", "Marta is on leave, refunds go to Piet now"),
        ("ingress is nginx, secrets in vault", "nginx ingress is end of life, we moved to traefik"),
        (
            "The checkout frontend is Angular.",
            "We rewrote the whole frontend in Svelte, it took a quarter.",
        ),
    ],
)
def test_what_takes_its_place_marks_it_among_many(home: Path, earlier: str, later: str) -> None:
    """A change that both messages show plainly is told, though they share a word or two at most."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, *REPOSITORY[5:], later, days=6)
        assert is_marked(find(memory, earlier))


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (
            "I'm Maya, I live in Lisbon with my husband Tom and our two kids, Emil (9) and Nora (6).",
            "Tom started a new job at Bosch last Monday.",
        ),
        (
            "我要参加的讲座很有名，它的规模是两百人。",
            "我还要参加的陶艺课很小，它的规模是十二个人。",
        ),
        ("OPPOReno7这款手机真挺不错的。", "小米12这手机真心不错。"),
        ("Schreib mir bitte ein Gedicht für Uwes Geburtstag", "Uwe angelt wieder, drei Dorsche"),
        (
            "Escríbeme un cartel para el queso de cabra",
            "He cambiado la balanza, la nueva imprime etiquetas",
        ),
        ("帮我写一段情人节的文案", "我不再接婚礼的单子了，太累"),
        ("Rehearsal is on Tuesdays.", "My dentist moved me to Friday."),
        ("Emil is allergic to hazelnuts.", "I dropped Emil at the station."),
        ("Ich wohne in Köln.", "Ich würde gern einmal nach Bonn ziehen."),
        (
            "Our deploy window is Tuesday 10 to 12",
            "Deployments only go through release.yml from now on",
        ),
        (
            "the bus to the airport goes every 20 minutes",
            "the bus to the centre goes every 10 minutes",
        ),
        ("der Zug nach Kiel fährt um acht", "der Zug nach Bremen fährt jetzt um neun"),
        ("The plumber's number is 4471.", "The electrician's number is 4417."),
        ("I work at Acme.", "We hired a new cleaner."),
        ("Our meeting is on Mondays.", "The meeting ended early today."),
        ("I have a dog called Bo.", "My goldfish died yesterday."),
        (
            "got a part time job at Greggs, saturdays",
            "moving to Sheffield in the summer prob, step dad's job",
        ),
    ],
)
def test_news_of_something_else_marks_nothing(home: Path, earlier: str, later: str) -> None:
    """News of a companion, of another event, a second praise and another's day mark nothing."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, later)
        assert not is_marked(find(memory, earlier))


@pytest.mark.parametrize(
    ("earlier", "later", "minutes"),
    [
        ("Our podcast is on mondays", "pod is thursdays now", 43_200),
        ("Müllabfuhr kommt donnerstags.", "Die Müllabfuhr kommt jetzt montags.", 43_200),
        (
            "El ensayo es a las siete.",
            "El ensayo lo pasamos a las ocho, ya no a las siete.",
            43_200,
        ),
        ("The plumber coming Thursday is called Mr. Tan", "Misheard him, it's Tran.", 12),
        ("wifi at the hut: larch-pine-581", "typo, larch-pine-518", 2),
        (
            "Harvest supper is at the chapel hall.",
            "Chapel hall's flooded so the harvest supper goes in Dawe's barn.",
            43_200,
        ),
        ("茶园的钥匙放在老周那里。", "钥匙不在老周那里了，现在放村委会。", 43_200),
        ("豆は神戸の焙煎所から仕入れています", "豆の仕入れ先を京都に変えました", 14_400),
    ],
)
def test_another_day_time_place_or_spelling_of_the_same_is_told(
    home: Path, earlier: str, later: str, minutes: float
) -> None:
    """Another day, time or place of the same thing, and a slip put right within minutes, are told."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, later, minutes=minutes)
        assert is_marked(find(memory, earlier))


def test_what_was_so_long_before_marks_nothing_of_the_same_day(home: Path) -> None:
    """Minutes apart, what has been so since 2019 is no change."""
    earlier = "hola, soy Carmen, tengo 68 años y vivo en Cádiz"
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, "soy viuda desde 2019", minutes=3)
        assert not is_marked(find(memory, earlier))


@pytest.mark.parametrize(
    ("old_way", "new_way", "later"),
    [
        (
            "We use ESLint for linting.",
            "We use Biome for linting.",
            "ESLint was replaced by Biome.",
        ),
        (
            "My dentist is Dr. Finch.",
            "My dentist is Dr. Abara.",
            "I left Dr. Finch for Dr. Abara.",
        ),
        ("Standup is at 9:15.", "Standup is at 9:30.", "Standup moved from 9:15 to 9:30."),
        (
            "I see Dr. Finch for my knee.",
            "I see Dr. Abara for my knee.",
            "Dr. Abara has taken over from Dr. Finch.",
        ),
        (
            "Ich trinke morgens Kaffee.",
            "Ich trinke morgens Tee.",
            "Statt Kaffee trinke ich jetzt Tee.",
        ),
        ("Ich wohne in Kiel.", "Ich wohne in Bremen.", "Ich bin von Kiel nach Bremen gezogen."),
        ("Wir nutzen Zoom.", "Wir treffen uns auf Jitsi.", "Statt Zoom nehmen wir jetzt Jitsi."),
        ("J'habite à Nantes.", "J'habite à Lyon.", "J'ai quitté Nantes pour Lyon."),
        ("Entreno con Marta.", "Entreno con Lucía.", "Cambié a Marta por Lucía."),
        ("我住在西安。", "我住在成都。", "我从西安搬到成都了。"),
        ("仙台に住んでいます。", "福岡に住んでいます。", "仙台から福岡に引っ越しました。"),
        ("We use Miro.", "We use Figma for boards.", "Miro is gone, we have Figma instead."),
        (
            "Mein Laptop ist ein Dell.",
            "Ich habe ein Framework.",
            "Der Dell ist hin, Framework gekauft.",
        ),
        ("Mi banco es BBVA.", "Mi banco es ING.", "Cerré la cuenta de BBVA y me pasé a ING."),
        ("我用苹果手机。", "我用华为手机。", "苹果手机我换成华为了。"),
        ("コーヒーを飲みます。", "紅茶を飲みます。", "コーヒーはやめて、今は紅茶です。"),
    ],
)
def test_what_took_the_place_of_something_ends_only_that(
    home: Path, old_way: str, new_way: str, later: str
) -> None:
    """Who says what replaced what ends the one, and says the other once more."""
    for number, (earlier, is_over) in enumerate(((old_way, True), (new_way, False))):
        with engrams.open(home=home / str(number), jobs__workers=0) as memory:
            say(memory, earlier, later)
            assert is_marked(find(memory, earlier)) is is_over


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I work as a nurse at Mercy.", "I got sacked from Mercy last week."),
        ("We have a cat called Minka.", "We gave the cat Minka to my aunt."),
        ("My bank is Lloyds.", "Lloyds closed my account."),
        ("Ich habe ein Konto bei der ING.", "Die ING hat mein Konto gekündigt."),
        ("Wir haben einen Hund namens Bruno.", "Bruno mussten wir einschläfern lassen."),
        ("Je travaille à la Fnac.", "La Fnac m'a virée en mars."),
        ("Mi hijo va al colegio San José.", "Sacamos a mi hijo del colegio San José."),
        ("Tengo una moto Honda.", "Le regalé la moto a mi sobrino."),
        ("我有一架钢琴。", "钢琴送给表妹了。"),
        ("プリウスに乗っています。", "プリウスは弟に譲りました。"),
    ],
)
def test_what_was_done_with_a_thing_tells_that_it_is_over(
    home: Path, earlier: str, later: str
) -> None:
    """Who was dismissed, sold a thing or gave it away has it no longer, without a word of an end."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, later)
        assert is_marked(find(memory, earlier))


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I have a car.", "I gave the car keys to my aunt."),
        ("I work at Siemens.", "Siemens fired my boss."),
        ("Salgo con Ana.", "Ana me dejó las llaves."),
        ("I work at Siemens.", "I'm now team lead at Siemens."),
        ("The api repo is written in Go.", "Bumped the api repo to Go 1.24."),
        ("Mein Sohn spielt Handball beim TSV.", "Mein Sohn ist beim TSV jetzt Torwart."),
        ("Wir bauen ein Haus.", "Das Dach vom Haus ist jetzt drauf."),
        ("Mon fils fait du judo.", "Mon fils est maintenant ceinture verte de judo."),
        ("Tenemos un limonero.", "El limonero ya da limones."),
        ("我们种了番茄。", "番茄现在开花了。"),
        ("ソニーで働いています。", "ソニーで課長になりました。"),
    ],
)
def test_a_step_in_what_goes_on_ends_nothing(home: Path, earlier: str, later: str) -> None:
    """A promotion, a newer version or growth of what is named again leaves it as it is."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, later)
        assert not is_marked(find(memory, earlier))


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I'm a junior developer at Siemens.", "I'm now team lead at Siemens."),
        ("I study law at Bonn.", "I now study physics at Bonn."),
        ("We have two cats.", "We now have three cats."),
        ("My desk is at the window.", "My desk is at the door now."),
        ("Ich bin Praktikantin bei Bosch.", "Ich bin jetzt Ingenieurin bei Bosch."),
    ],
)
def test_another_value_beside_what_is_named_again_is_told(
    home: Path, earlier: str, later: str
) -> None:
    """Another role, subject, number or place ends the one before, though the rest is said again."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, later)
        assert is_marked(find(memory, earlier))


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I live in Porto.", "These days I live in Porto."),
        ("I'm vegetarian.", "I've been vegetarian for three years now."),
        ("I take metformin at night.", "I currently take metformin at night."),
        ("Ich wohne in Bremen.", "Jetzt wohne ich schon zwei Jahre in Bremen."),
        ("Ich bin Lehrerin in Jena.", "Ich bin immer noch Lehrerin in Jena."),
        ("On utilise Vue.", "On utilise maintenant Vue."),
        ("Vivo en Bilbao.", "Ahora vivo en Bilbao."),
        ("我住在成都。", "我现在住在成都。"),
        ("娘は中学生です。", "娘は今もう中学生です。"),
    ],
)
def test_what_is_said_again_marks_nothing(home: Path, earlier: str, later: str) -> None:
    """The same words with "now" or "still" among them are no change."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, later)
        assert not is_marked(find(memory, earlier))


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I'm vegetarian.", "I'm not vegetarian now."),
        ("Ich trinke Tee.", "Ich trinke jetzt keinen Tee."),
        ("我吃素。", "我现在不吃素了。"),
        ("My gym is FitX.", "My gym is McFit now."),
    ],
)
def test_the_same_words_with_a_denial_or_another_value_mark(
    home: Path, earlier: str, later: str
) -> None:
    """A denial among the same words, and one other word for the value, are a change."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(memory, earlier, later)
        assert is_marked(find(memory, earlier))


def test_a_return_ends_nothing_else(home: Path) -> None:
    """Somebody is back in a town that was named: no verb's ending makes that about a closing day."""
    change = "定休日を火曜に変えました"
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(
            memory,
            "大阪で小さなカフェをやっています",
            change,
            "夫は単身赴任で名古屋にいます",
            "夫が大阪に戻ってきました",
        )
        assert not is_marked(find(memory, change))


def test_every_part_that_changed_comes_with_its_news(home: Path) -> None:
    """The bar has closed and the evening has another day: a context shows both, whatever was last."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        say(
            memory,
            "los jueves juego al dominó con las amigas en el bar de Paco",
            "no puedo comer sal por la tensión",
            "tengo cita con el oculista el 22 a las diez y media",
            "el dominó ahora es los viernes",
            "mi vecina Pepa me riega las plantas cuando me voy",
            "Paco ha cerrado el bar, ahora jugamos en casa de Pepa",
            days=5,
        )
        context = memory.context("¿cuándo juego al dominó?", scope=ME).text
        assert "viernes" in context
        assert "casa de Pepa" in context
