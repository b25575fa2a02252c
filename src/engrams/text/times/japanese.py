"""Grammar of Japanese times."""

from __future__ import annotations

from engrams.text.times import numeric_dates
from engrams.text.times.cjk import (
    DAY,
    MONTH,
    NUMBER,
    SEASONS,
    WEEKDAYS,
    YEAR,
    on_counted,
    on_date,
    on_decade,
    on_time,
    parse_number,
)
from engrams.text.times.grammar import (
    DatePart,
    Piece,
    Rule,
    TimeModifier,
    TimeRuleMatch,
    compile_grammar,
)
from engrams.text.times.lexicon import HOURS, load_lexicon

JA = load_lexicon("japanese")
_YEARS = {
    "今年": 0,
    "本年": 0,
    "去年": -1,
    "昨年": -1,
    "一昨年": -2,
    "おととし": -2,
    "ことし": 0,
    "きょねん": -1,
    "来年": 1,
    "らいねん": 1,
    "再来年": 2,
}
_WHICH = {
    "先々": -2,
    "せんせん": -2,
    "先": -1,
    "せん": -1,
    "今": 0,
    "こん": 0,
    "来": 1,
    "らい": 1,
    "再来": 2,
    "さらい": 2,
}
_DAYS = {
    "一昨々日": (-3, ""),
    "さきおととい": (-3, ""),
    "一昨日": (-2, ""),
    "おととい": (-2, ""),
    "昨日": (-1, ""),
    "きのう": (-1, ""),
    "今日": (0, ""),
    "きょう": (0, ""),
    "本日": (0, ""),
    "明日": (1, ""),
    "あした": (1, ""),
    "あす": (1, ""),
    "明後日": (2, ""),
    "あさって": (2, ""),
    "しあさって": (3, ""),
    "明々後日": (3, ""),
    "昨夜": (-1, "night"),
    "昨晩": (-1, "night"),
    "ゆうべ": (-1, "night"),
    "今朝": (0, "morning"),
    "けさ": (0, "morning"),
    "今晩": (0, "evening"),
    "今夜": (0, "night"),
    "明朝": (1, "morning"),
    "明晩": (1, "evening"),
}
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925}
_LEANS = {"この前": -1, "この間": -1, "前": -1, "先": -1, "次": 1, "今度": 1, "来る": 1}


_ND = r"(?<![第\d一二三四五六七八九十何数])"
_U = "分間?|時間|日間?|晩|週間?|[かヶカヵケ箇]月|四半期|年間?"


def _on_year(m: TimeRuleMatch) -> Piece | None:
    return DatePart("unit", m.start(), m.end(), unit="year", offset=_YEARS[m[0]])


def _on_era(m: TimeRuleMatch) -> Piece | None:
    year = _ERAS[m["era"]] + (1 if m["n"] == "元" else parse_number(m["n"]))
    if not m["m"]:
        return DatePart("year", m.start(), m.end(), year=year)
    kind, day = ("date", parse_number(m["d"])) if m["d"] else ("month", 0)
    return DatePart(
        "date" if kind == "date" else "month",
        m.start(),
        m.end(),
        year=year,
        month=parse_number(m["m"]),
        day=day,
    )


def _on_week(m: TimeRuleMatch) -> Piece | None:
    return DatePart(
        "unit", m.start(), m.end(), unit="weekend" if m["e"] else "week", offset=_WHICH[m["w"]]
    )


def _on_month(m: TimeRuleMatch) -> Piece | None:
    return DatePart("unit", m.start(), m.end(), unit="month", offset=_WHICH[m["w"]])


def _on_weekday(m: TimeRuleMatch) -> Piece | None:
    if m.text.endswith(("毎週", "毎", "各", "隔週"), 0, m.start()):
        return None
    return DatePart(
        "weekday",
        m.start(),
        m.end(),
        index=WEEKDAYS[m["d"]],
        lean=_LEANS[m["w"]] if m["w"] else None,
    )


def _on_weekend(m: TimeRuleMatch) -> Piece | None:
    return DatePart(
        "unit", m.start(), m.end(), unit="weekend", offset=_LEANS[m["w"]] if m["w"] else None
    )


def _on_day(m: TimeRuleMatch) -> Piece | None:
    offset, hours = _DAYS[m[0]]
    return DatePart(
        "unit", m.start(), m.end(), unit="day", offset=offset, hours=HOURS[hours] if hours else None
    )


def _on_ago(m: TimeRuleMatch) -> Piece | None:
    return on_counted(m, JA.units[m["u"]], 1 if m["f"] else -1)


def _on_stretch(m: TimeRuleMatch) -> Piece | None:
    count = 5 if m["v"] else parse_number(m["n"])
    return DatePart(
        "stretch",
        m.start(),
        m.end(),
        unit=JA.units[m["u"]],
        offset=1 if m["w"] in ("今後", "これから") else -1,
        count=(count, count),
    )


def _on_lately(m: TimeRuleMatch) -> Piece | None:
    return DatePart("stretch", m.start(), m.end(), unit="day", offset=-1, count=(30, 30))


def _on_other_day(m: TimeRuleMatch) -> Piece | None:
    return DatePart("about", m.start(), m.end(), unit="day", offset=-1, count=(1, 14))


def _on_dom(m: TimeRuleMatch) -> Piece | None:
    return DatePart("dom", m.start(), m.end(), day=parse_number(m["d"]))


def _on_season(m: TimeRuleMatch) -> Piece | None:
    return DatePart("season", m.start(), m.end(), index=SEASONS[m["s"] or m["s2"]])


def _on_holiday(m: TimeRuleMatch) -> Piece | None:
    return DatePart("holiday", m.start(), m.end(), name=JA.holidays[m["h"]])


def _on_clock(m: TimeRuleMatch) -> Piece | None:
    return on_time(JA.hours, m)


def _on_quarter(m: TimeRuleMatch) -> Piece | None:
    return DatePart("quarter", m.start(), m.end(), index=parse_number(m["q"]) - 1)


def _on_edge(m: TimeRuleMatch) -> Piece | None:
    return TimeModifier("edge", m.start(), m.end(), suffix=True, name=JA.edges[m["e"]])


def _on_edge_unit(m: TimeRuleMatch) -> Piece | None:
    unit = {"年": "year", "月": "month"}[m["u"]]
    edge = "end" if m["e"] == "末" else "start"
    return TimeModifier(
        "edge",
        m.start(),
        m.end(),
        suffix=True,
        name=edge,
        instead=DatePart("unit", m.start(), m.end(), unit=unit, offset=0, edge=edge),
    )


def _on_half(m: TimeRuleMatch) -> Piece | None:
    return TimeModifier(
        "nth",
        m.start(),
        m.end(),
        suffix=True,
        unit="half",
        count=0 if m["w"] in ("上半期", "前半") else -1,
    )


def _on_bound(m: TimeRuleMatch) -> Piece | None:
    return TimeModifier(JA.bounds[m[0]], m.start(), m.end(), suffix=True)


_RULES: tuple[Rule, ...] = (
    *numeric_dates.digit_rules(month_first=False),
    (r"(?P<y>(?:19|20)\d0|[3-9]0)年代", on_decade),
    (
        rf"(?P<era>令和|平成|昭和)(?P<n>\d{{1,2}}|元|[一二三四五六七八九十]{{1,3}})年(?:(?P<m>{MONTH})月(?:(?P<d>{DAY})日)?)?",
        _on_era,
    ),
    (
        rf"(?<!\d)(?P<y>{YEAR})年(?!間|生|度生)(?:の?(?P<m>{MONTH})月(?:(?P<d>{DAY})日(?:(?:から|[〜～~-])(?P<d2>{DAY})日)?)?)?",
        on_date,
    ),
    (
        rf"{_ND}(?:(?P<v>数)|(?P<n>{NUMBER}))(?P<u>{_U})(?P<half>半)?(?:ほど|くらい|ぐらい)?(?:前|(?P<f>後))(?!半)",
        _on_ago,
    ),
    (r"(?P<half>半)(?P<u>年|時間|日)(?:ほど|くらい|ぐらい)?(?:前|(?P<f>後))", _on_ago),
    (
        rf"(?P<w>過去|ここ|この|直近|最近の?|今後|これから)(?:(?P<v>数)|(?P<n>{NUMBER}))(?P<u>{_U})",
        _on_stretch,
    ),
    (r"最近|近頃|ちかごろ|このごろ|この頃|ここのところ", _on_lately),
    (r"先日|こないだ|この間(?!の?[月火水木金土日]曜)", _on_other_day),
    ("|".join(sorted(_YEARS, key=len, reverse=True)), _on_year),
    (r"(?P<w>先々|先|今|再来|来)週(?P<e>末)?", _on_week),
    (r"(?<![ぁ-ん])(?P<w>せんせん|せん|こん|さらい|らい)しゅう(?P<e>まつ)?", _on_week),
    (r"(?P<w>先々|先|今|再来|来)月", _on_month),
    (r"(?<![ぁ-ん])(?P<w>せんせん|せん|こん|さらい|らい)げつ", _on_month),
    ("|".join(sorted(_DAYS, key=len, reverse=True)), _on_day),
    (r"(?:(?P<w>この前|この間|前|先|次|今度|来る)の)?(?P<d>[月火水木金土日])曜日?", _on_weekday),
    (r"(?:(?P<w>この前|この間|前|次|今度)の)?(?<!毎)週末", _on_weekend),
    (
        rf"{_ND}(?P<m>{MONTH})月(?!曜|給|謝|間|額)(?:(?P<d>{DAY})日(?:(?:から|[〜～~-])(?P<d2>{DAY})日)?)?",
        on_date,
    ),
    (
        r"(?<![\d月])(?P<d0>3[01]|[12]\d|[1-9])日(?:から|[〜～~-])(?P<d>3[01]|[12]\d|[1-9])日(?:まで|(?=[にはの、。]|\Z))",
        JA.on_days_of_month,
    ),
    (
        r"(?<!\d)(?:(?<!月)|(?<=[来今先々]月))(?P<d>3[01]|[12]\d|[1-9])日(?=[にはの、。]|まで|から(?!\d{1,2}日(?:間|かか|ほど|くらい|ぐらい|程))|です|でした|\Z)(?!の間|の前)",
        _on_dom,
    ),
    (
        r"(?<![\w])(?P<s>[春夏秋冬])(?=に|休み|頃|から|まで)|(?<=[年の])(?P<s2>[春夏秋冬])(?!日|本|田|山|川|子)",
        _on_season,
    ),
    (rf"(?P<h>{'|'.join(sorted(JA.holidays, key=len, reverse=True))})", _on_holiday),
    (
        rf"(?P<u>{'|'.join(JA.hours)})?の?(?<!\d)(?P<h>\d{{1,2}}|十[一二]?|[一二三四五六七八九])時(?!間|代|々|点|期|計|刻)(?:(?P<half>半)|(?P<n>\d{{1,2}})分)?",
        _on_clock,
    ),
    (rf"(?P<u>{'|'.join(JA.hours)})(?!日|食|刊|鮮)", _on_clock),
    (r"第(?P<q>[1-4一二三四])四半期", _on_quarter),
    (r"(?P<w>上半期|下半期|前半|後半)", _on_half),
    (r"(?P<u>年|月)(?P<e>末|始|初)(?!め)", _on_edge_unit),
    (rf"(?P<e>{'|'.join(sorted(JA.edges, key=len, reverse=True))})", _on_edge),
    ("|".join(sorted(JA.bounds, key=len, reverse=True)), _on_bound),
)


GRAMMAR = compile_grammar(
    _RULES,
    join=r"\s*[の、,]?\s*",
    links=(r"\s*(?:から|-|–|—|~|〜|～)\s*", r"\s*(?:から|と|-|~|〜|～)\s*"),
    touch=r"\s*の?\s*",
    future=r"予定|つもり|でしょう|だろう|ましょう|たい|行く|します|ます(?!か)|楽しみ|今度",
    clause=r"、",
    spaced=False,
)
