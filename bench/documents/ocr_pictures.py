"""Pictures of text, drawn with Pillow: what a person photographs or scans, and the words that stand there."""

from __future__ import annotations

import io
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont

_FONTS = Path("/usr/share/fonts/truetype/dejavu")
_SEED = 7
_PAPER = (250, 249, 245)
_INK = (25, 25, 35)

_LETTER = """Sehr geehrte Frau Müller,
hiermit kündigen wir die Wohnung in der Grünstraße 14
fristgemäß zum 30. September. Die Schlüsselübergabe
möchten wir für den 28. September um 16:30 Uhr
vorschlagen. Bitte überweisen Sie die Kaution in Höhe
von 1.850,00 € auf das unten genannte Konto.
Mit freundlichen Grüßen
Jörg und Käthe Schönfeld"""
_MENU = """Menu du déjeuner
Soupe à l'oignon gratinée 8,50
Crème brûlée à la vanille 7,20
Gâteau au chocolat fondant 6,90
Jamón ibérico con piñones 12,40
Salade niçoise et œuf mollet 11,00
Café glacé 4,30"""
_SETTINGS = """Account settings
Display name: Nora Whitfield
Time zone: Europe/Lisbon
Backup every 6 hours
Last backup: Tuesday, 14 October, 09:42
Storage used: 18.7 GB of 50 GB
Two-factor login is turned on
Recovery mail: nora@whitfield.example"""
_TERMINAL = """$ kubectl get pods --namespace billing
NAME              READY   STATUS    RESTARTS
invoice-7f9c5d    1/1     Running   0
ledger-66b8d4     0/1     CrashLoop 14
mailer-5c7d9b     1/1     Running   2
$ kubectl logs ledger-66b8d4
FATAL: password authentication failed for user ledger"""
_WHITEBOARD = """Launch plan
1. Freeze schema on Monday
2. Load test with 400 users
3. Ask Priya about the rollback
4. Demo for the Hamburg office
Owner: Tomasz
Deadline: 12 November"""
_RECEIPT = """GREENLEAF MARKET
12 Harbour Road, Bristol
Oat milk 1L        2.15
Sourdough loaf     3.80
Cherry tomatoes    2.45
Olive oil 500ml    7.99
SUBTOTAL          16.39
VAT 20%            1.33
TOTAL             17.72
Card payment **** 4821
Thank you for shopping"""
_CHINESE = """会议纪要
时间：十一月三日下午两点
地点：上海办公室三楼会议室
王敏负责预算，李强负责采购
下周五之前提交最终报告
预算总额为四十二万元"""
_JAPANESE = """お知らせ
来週の月曜日は図書館が休みです
本の返却は火曜日までにお願いします
新しいカードは受付で受け取れます
電話番号は変わりません"""
_POSTER = """Summer concert in the park
Saturday 21 June at 19:00
The Copper Kettle Quartet
Entrance free, bring a blanket
In case of rain: town hall"""
_LABEL = """Fragile: glass inside
Deliver to workshop number 9
Contact Ingrid Halvorsen
Net weight 14 kg
Keep dry and upright"""
_SENTENCES = (
    "The tenant may keep one cat in the flat.",
    "Dogs need the written consent of the landlord.",
    "Heating costs are paid in twelve equal parts.",
    "The deposit is returned within sixty days.",
    "Repairs below ninety euros are paid by the tenant.",
    "Both sides may end this contract with three months of notice.",
    "The cellar and the garden belong to the rented rooms.",
    "Noise is to be avoided between ten at night and six in the morning.",
)


@dataclass(frozen=True, slots=True)
class TextPicture:
    """A picture, and the text that it shows."""

    name: str
    data: bytes
    text: str


def draw_all(cjk_font: Path) -> list[TextPicture]:
    """Draw the pictures. ``cjk_font``: file of a font with Chinese and Japanese characters."""
    chance = random.Random(_SEED)
    page = _fill_page(chance)
    sans, mono, serif = (_FONTS / f"DejaVu{name}.ttf" for name in ("Sans", "SansMono", "Serif"))
    drawn: list[tuple[str, Image.Image, str]] = [
        ("screenshot", _draw(_SETTINGS, sans, 17), _SETTINGS),
        (
            "terminal",
            _draw(_TERMINAL, mono, 16, ink=(190, 230, 190), paper=(18, 20, 26)),
            _TERMINAL,
        ),
        ("whiteboard", _shade(_scrawl(_WHITEBOARD, chance)), _WHITEBOARD),
        ("receipt", _speckle(_draw(_RECEIPT, mono, 20, ink=(70, 70, 78)), chance), _RECEIPT),
        ("german letter", _draw(_LETTER, serif, 26), _LETTER),
        ("french and spanish menu", _draw(_MENU, serif, 24), _MENU),
        ("chinese", _draw(_CHINESE, cjk_font, 30), _CHINESE),
        ("japanese", _draw(_JAPANESE, cjk_font, 30), _JAPANESE),
        ("tilted photo", _shade(_turn(_draw(_POSTER, sans, 44), 7)), _POSTER),
        (
            "low contrast",
            _draw(_LABEL, sans, 28, ink=(168, 168, 168), paper=(200, 200, 200)),
            _LABEL,
        ),
        ("sideways", _draw(_LABEL, sans, 36).rotate(90, expand=True), _LABEL),
        ("scanned page", _speckle(_turn(_draw(page, serif, 30), 0.6), chance), page),
    ]
    return [TextPicture(name, _encode(image), text) for name, image, text in drawn]


def _fill_page(chance: random.Random) -> str:
    """Fill a page of 40 lines."""
    return "\n".join(f"{number}. {chance.choice(_SENTENCES)}" for number in range(1, 41))


def _draw(
    text: str,
    font_path: Path,
    size: int,
    *,
    ink: tuple[int, int, int] = _INK,
    paper: tuple[int, int, int] = _PAPER,
) -> Image.Image:
    font = ImageFont.truetype(str(font_path), size)
    lines = text.split("\n")
    width = int(max(font.getlength(line) for line in lines)) + 4 * size
    image = Image.new("RGB", (width, int(len(lines) * size * 1.6) + 4 * size), paper)
    canvas = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        canvas.text((2 * size, 2 * size + number * size * 1.6), line, ink, font)
    return image


def _scrawl(text: str, chance: random.Random) -> Image.Image:
    """Draw letters that dance and lean, as a marker's do."""
    size = 54
    font = ImageFont.truetype(str(_FONTS / "DejaVuSans-Oblique.ttf"), size)
    lines = text.split("\n")
    image = Image.new("RGB", (1400, len(lines) * 100 + 140), (240, 242, 244))
    for number, line in enumerate(lines):
        left = 70 + chance.randint(0, 40)
        for letter in line:
            tile = Image.new("L", (size * 2, size * 2), 0)
            ImageDraw.Draw(tile).text((size // 2, size // 4), letter, 255, font)
            tile = tile.rotate(chance.uniform(-7, 7))
            top = 50 + number * 100 + chance.randint(-4, 4)
            image.paste((20, 60, 150), (left - size // 2, top), tile)
            left += int(font.getlength(letter)) + chance.randint(0, 3)
    return image.filter(ImageFilter.GaussianBlur(0.8))


def _turn(image: Image.Image, degrees: float) -> Image.Image:
    return image.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=_PAPER)


def _shade(image: Image.Image) -> Image.Image:
    """Darken a picture towards one corner, as a lamp at its other side does."""
    reach = math.hypot(*image.size)
    shade = Image.radial_gradient("L").resize((int(reach * 2), int(reach * 2)))
    start = shade.width // 2
    mask = shade.crop((start, start, start + image.width, start + image.height))
    return Image.composite(Image.new("RGB", image.size, (60, 55, 50)), image, mask.point(_halve))


def _halve(value: int) -> int:
    return value // 2


def _speckle(image: Image.Image, chance: random.Random) -> Image.Image:
    """Strew grey grains over a picture, and blur it a little."""
    canvas = ImageDraw.Draw(image)
    for _ in range(image.width * image.height // 400):
        grey = chance.randint(120, 220)
        spot = (chance.randrange(image.width), chance.randrange(image.height))
        canvas.point(spot, (grey, grey, grey))
    return image.filter(ImageFilter.GaussianBlur(0.7))


def _encode(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=85)
    return out.getvalue()


OcrFunction = Callable[[bytes], str]
"""Reads the text of an encoded picture."""


def count_right(shown: str, read: str) -> tuple[int, int]:
    """Count the words of a picture that were read letter by letter, and all of its words.

    Of Chinese and Japanese each character is a word.
    """
    wanted, given = _list_words(shown), _list_words(read)
    total = len(wanted)
    for word in given:
        if word in wanted:
            wanted.remove(word)
    return total - len(wanted), total


def _list_words(text: str) -> list[str]:
    words: list[str] = []
    for word in text.split():
        bare = word.strip(".,:;：，。!?").casefold()
        words += list(bare) if _is_cjk(bare) else [bare]
    return [word for word in words if word and word not in "：，。、"]


def _is_cjk(text: Sequence[str]) -> bool:
    return any("\u3040" <= letter <= "\u9fff" for letter in text)
