"""Words in another form than was said, in languages of Latin script."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from engrams import open as open_memory
from engrams.settings import load
from engrams.testing import temp_engine

ANN = ("user", "ann")

PAIRS = (
    ("Meine Katze schläft den ganzen Tag", "Wo sind die Katzen?", "de"),
    ("Die Häuser am Hafen sind sehr alt", "Was weißt du über das Haus?", "de"),
    ("Ich sammle seit Jahren alte Münzen", "Welche Münze habe ich?", "de"),
    ("Nous avons acheté deux voitures rouges", "Quelle voiture avons-nous ?", "fr"),
    ("Ma soeur chante dans une chorale", "Qui aime chanter ?", "fr"),
    ("J'ai trois cousines à Lyon", "Où est ma cousine ?", "fr"),
    ("Mi vecino colecciona relojes antiguos", "¿Quién tiene un reloj?", "es"),
    ("Las canciones de mi abuela son tristes", "¿Cuál es la canción de mi abuelo?", "es"),
    ("Ayer compramos unos zapatos nuevos", "¿Quién quiere comprar un zapato?", "es"),
    ("I miei fratelli vivono a Torino", "Dove abita mio fratello?", "it"),
    ("Ho comprato due biciclette usate", "Dove è la mia bicicletta?", "it"),
    ("Eu tenho dois gatos pretos", "Qual é o nome do meu gato?", "pt"),
    ("As minhas filhas estudam música", "O que estuda a minha filha?", "pt"),
    ("Ik heb twee honden uit het asiel", "Hoe heet mijn hond?", "nl"),
    ("We hebben nieuwe boeken gekocht", "Welk boek heb je gelezen?", "nl"),
    ("Jag har tre hästar på landet", "Vad heter min häst?", "sv"),
    ("Dün yeni kitaplar aldım", "Hangi kitap benim için?", "tr"),
    ("Komşum ile eski arabalar satıyoruz", "Benim araba nerede?", "tr"),
)
OTHERS = (
    ("Heute regnet es in Hamburg", "Mein Bruder kocht gern", "Wir fahren im Sommer ans Meer"),
    ("Il pleut à Paris aujourd'hui", "Mon frère travaille la nuit", "Nous partons en été"),
    ("Hoy llueve en Madrid", "Mi hermano trabaja de noche", "En verano vamos al mar"),
    ("Oggi piove a Roma", "Mia madre lavora di notte", "In estate andiamo al mare"),
    ("Hoje chove em Lisboa", "O meu irmão trabalha à noite", "No verão vamos à praia"),
    ("Vandaag regent het in Utrecht", "Mijn broer kookt graag", "In de zomer gaan we naar zee"),
    ("Idag regnar det i Lund", "Min bror lagar mat", "På sommaren åker vi till havet"),
    ("Bugün yağmur var", "Annem gece çalışıyor", "Yazın denize gidiyoruz"),
)


def test_another_form_of_a_word_finds_its_sentence() -> None:
    """Plurals and verb forms in eight languages find what was said in another form, by words alone,
    among other sentences.
    """
    with temp_engine(jobs__workers=0, write__extract="off", embed__provider="null") as engine:
        ids = [engine.add(text, scope=ANN).id for text, _, _ in PAIRS]
        for texts in OTHERS:
            for text in texts:
                engine.add(text, scope=ANN)
        missed = [
            question
            for (_, question, _), id in zip(PAIRS, ids, strict=True)
            if [hit.record.id for hit in engine.search(question, scope=ANN).hits[:1]] != [id]
        ]
        assert len(missed) <= 2, missed


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Meine Katze schläft viel", "Katzen"),
        ("Eu tenho dois cavalos", "cavalo"),
        ("J'aime les pommes", "pomme"),
    ],
)
def test_a_single_word_finds_its_other_form(text: str, question: str) -> None:
    """A query of one word, which shows no language, is looked for under the stems of all of them
    where it is not known as it stands.
    """
    with temp_engine(jobs__workers=0, write__extract="off", embed__provider="null") as engine:
        id = engine.add(text, scope=ANN).id
        engine.add("The weather was lovely in the park", scope=ANN)
        assert engine.search(question, scope=ANN).hits[0].record.id == id


def test_terms_of_an_older_version_are_made_anew_on_opening(tmp_path: Path) -> None:
    """A home whose terms were made by an older version finds other forms of words once it is
    opened.
    """
    settings = load(
        {
            "home": str(tmp_path),
            "jobs.workers": 0,
            "write.extract": "off",
            "embed.provider": "null",
        },
        environ={},
    ).settings
    with open_memory(settings) as engine:
        id = engine.add("Ik heb twee honden uit het asiel", scope=ANN).id
        engine.add("We hebben nieuwe boeken gekocht", scope=ANN)
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    connection.execute(
        "DELETE FROM counters WHERE name = 'terms'; UPDATE records SET lexemes = substr(lexemes,"
        " 1, 4)"
    )
    connection.close()
    with open_memory(settings) as engine:
        assert engine.search("Hoe heet mijn hond?", scope=ANN).hits[0].record.id == id
