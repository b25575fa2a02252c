"""Questions in other languages and scripts:
found by parts of words, and by meaning where the embedder knows the language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import pytest

from engrams.ports import EmbedderCard
from engrams.testing import temp_engine

if TYPE_CHECKING:
    from engrams.ports.models import Floats

ANN = ("user", "ann")

SAID: Mapping[str, Sequence[str]] = {
    "zh": (
        "我妹妹在上海的一家医院当护士",
        "我们家的猫叫小黑,今年三岁",
        "上个月我们搬到了杭州西湖旁边",
        "我对花生过敏,一点都不能吃",
        "周末我常常去爬山和拍照",
        "爸爸的生日是八月十五号",
    ),
    "ja": (
        "妹は大阪の病院で看護師をしています",
        "うちの猫の名前はクロで、三歳です",
        "先月、京都の川の近くに引っ越しました",
        "私はピーナッツのアレルギーがあります",
        "週末はよく山に登って写真を撮ります",
        "父の誕生日は八月十五日です",
    ),
    "ko": (
        "제 여동생은 부산에 있는 병원에서 간호사로 일해요",
        "우리 고양이 이름은 까미이고 세 살이에요",
        "지난달에 한강 근처로 이사했어요",
        "저는 땅콩 알레르기가 있어요",
        "주말에는 자주 산에 올라가서 사진을 찍어요",
        "아버지 생신은 팔월 십오일이에요",
    ),
    "th": (
        "น้องสาวของฉันเป็นพยาบาลที่โรงพยาบาลในเชียงใหม่",
        "แมวของเราชื่อดำ อายุสามขวบ",
        "เดือนที่แล้วเราย้ายไปอยู่ใกล้แม่น้ำเจ้าพระยา",
        "ฉันแพ้ถั่วลิสง กินไม่ได้เลย",
        "วันหยุดฉันชอบไปปีนเขาและถ่ายรูป",
        "วันเกิดของพ่อคือวันที่สิบห้าสิงหาคม",
    ),
    "ru": (
        "Моя сестра работает медсестрой в больнице в Казани",
        "Нашу кошку зовут Чернушка, ей три года",
        "В прошлом месяце мы переехали поближе к Волге",
        "У меня аллергия на арахис, совсем нельзя",
        "По выходным я часто хожу в горы и фотографирую",
        "День рождения папы пятнадцатого августа",
    ),
    "ar": (
        "أختي تعمل ممرضة في مستشفى في القاهرة",
        "قطتنا اسمها سوداء وعمرها ثلاث سنوات",
        "في الشهر الماضي انتقلنا إلى بيت قرب النيل",
        "عندي حساسية من الفول السوداني",
        "في عطلة الأسبوع أتسلق الجبال وألتقط الصور",
        "عيد ميلاد أبي في الخامس عشر من أغسطس",
    ),
    "es": (
        "Mi hermana trabaja de enfermera en un hospital de Sevilla",
        "Nuestra gata se llama Negrita y tiene tres años",
        "El mes pasado nos mudamos cerca del río Guadalquivir",
        "Soy alérgica a los cacahuetes, no puedo comer ninguno",
        "Los fines de semana subo montañas y saco fotografías",
        "El cumpleaños de papá es el quince de agosto",
    ),
    "de": (
        "Meine Schwester arbeitet als Krankenpflegerin in einer Klinik in Lübeck",
        "Unsere Katze heißt Mohrle und ist drei Jahre alt",
        "Letzten Monat sind wir in die Nähe der Elbe gezogen",
        "Gegen Erdnüsse bin ich allergisch, ich darf keine essen",
        "Am Wochenende steige ich oft auf Berge und fotografiere",
        "Papas Geburtstag ist am fünfzehnten August",
    ),
}
"""In each language the same six things: sister, cat, move, peanuts, weekends, father's birthday."""

ASKED: Mapping[str, Sequence[str]] = {
    "zh": (
        "妹妹做什么工作?",
        "猫叫什么名字?",
        "我们搬到哪里了?",
        "我对什么过敏?",
        "周末我做什么?",
        "爸爸什么时候生日?",
    ),
    "ja": (
        "妹の仕事は何ですか",
        "猫の名前は?",
        "どこに引っ越しましたか",
        "何のアレルギーがありますか",
        "週末は何をしますか",
        "父の誕生日はいつ?",
    ),
    "ko": (
        "여동생은 무슨 일을 해요?",
        "고양이 이름이 뭐예요?",
        "어디로 이사했어요?",
        "무슨 알레르기가 있어요?",
        "주말에 뭐 해요?",
        "아버지 생신이 언제예요?",
    ),
    "th": (
        "น้องสาวทำงานที่ไหน",
        "แมวชื่ออะไร",
        "เราย้ายไปอยู่ที่ไหน",
        "ฉันแพ้อะไร",
        "วันหยุดฉันทำอะไร",
        "วันเกิดของพ่อเมื่อไหร่",
    ),
    "ru": (
        "Где работает сестра?",
        "Как зовут кошек?",
        "Куда мы переехали?",
        "На что у меня аллергия?",
        "Что я делаю в выходные?",
        "Когда у папы день рождения?",
    ),
    "ar": (
        "أين تعمل أختي؟",
        "ما اسم قطتنا؟",
        "إلى أين انتقلنا؟",
        "ما هي الحساسية عندي؟",
        "ماذا أفعل في عطلة الأسبوع؟",
        "متى عيد ميلاد أبي؟",
    ),
    "es": (
        "¿Dónde trabaja mi hermana?",
        "¿Cómo se llama la gata?",
        "¿Adónde nos mudamos?",
        "¿A qué soy alergica?",
        "¿Qué hago el fin de semana?",
        "¿Cuándo es el cumpleanos de papa?",
    ),
    "de": (
        "Wo arbeitet meine Schwester?",
        "Wie heißt die Katze?",
        "Wohin sind wir gezogen?",
        "Wogegen bin ich allergisch?",
        "Was mache ich am Wochenende?",
        "Wann hat Papa Geburtstag?",
    ),
}
"""Questions in the order of what was said, with other forms of the words, and without some of the
accents.
"""


@pytest.mark.covers("S1.50", "S4.38")
@pytest.mark.parametrize("tongue", SAID)
def test_a_question_finds_its_sentence_among_others_of_the_language(tongue: str) -> None:
    """In each of eight languages every question puts the sentence that answers it first, without a
    vector to help.
    """
    with temp_engine(jobs__workers=0, write__extract="off", embed__provider="null") as engine:
        ids = [engine.add(text, scope=ANN).id for text in SAID[tongue]]
        for question, id in zip(ASKED[tongue], ids, strict=True):
            assert engine.search(question, scope=ANN).hits[0].record.id == id, question


@pytest.mark.parametrize("tongue", SAID)
def test_a_language_is_found_among_all_the_others(tongue: str) -> None:
    """Somebody who speaks eight languages is answered in each:
    first but for one in six at most, always among five.
    """
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        ids = {text: engine.add(text, scope=ANN).id for texts in SAID.values() for text in texts}
        pairs = list(zip(ASKED[tongue], SAID[tongue], strict=True))
        first = [
            engine.search(question, scope=ANN).hits[0].record.id == ids[text]
            for question, text in pairs
        ]
        among = [
            ids[text] in {hit.record.id for hit in engine.search(question, scope=ANN, limit=5).hits}
            for question, text in pairs
        ]
        assert sum(first) >= 5
        assert all(among)


class _Polyglot:
    """An embedder that knows what six things are called in eight languages."""

    incognito: ClassVar[bool] = True
    card = EmbedderCard("polyglot-6", 8, inline=True)

    def embed(self, texts: Sequence[str], purpose: str = "document") -> Floats:
        import numpy as np

        rows = np.zeros((len(texts), 8), np.float32)
        for row, text in zip(rows, texts, strict=True):
            about = [
                position
                for texts in (*SAID.values(), *ASKED.values())
                for position, one in enumerate(texts)
                if one == text
            ]
            row[about] = 1
        return rows


@pytest.mark.parametrize(
    ("asks", "knows"),
    [("de", "ja"), ("zh", "ar"), ("th", "ru"), ("ko", "es"), ("es", "zh"), ("ar", "ko")],
)
def test_meaning_crosses_languages(asks: str, knows: str) -> None:
    """What was said in one language answers a question in another, without one shared word, where
    the embedder knows both.
    """
    with temp_engine(jobs__workers=0, write__extract="off", embedder=_Polyglot()) as engine:
        ids = [engine.add(text, scope=ANN).id for text in SAID[knows]]
        for question, id in zip(ASKED[asks], ids, strict=True):
            best = engine.search(question, scope=ANN).hits[0]
            assert best.record.id == id, question
            assert best.parts["cos"] > 0
