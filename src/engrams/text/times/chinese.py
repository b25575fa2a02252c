"""Grammar of Chinese times, simplified and traditional."""

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
    ModKind,
    Piece,
    Rule,
    TimeModifier,
    TimeRuleMatch,
    compile_grammar,
)
from engrams.text.times.lexicon import HOURS, load_lexicon

ZH = load_lexicon("chinese")
_WHICH = {"上上": -2, "上": -1, "这": 0, "這": 0, "本": 0, "当": 0, "下": 1, "下下": 2}
_YEARS = {
    "今年": 0,
    "本年": 0,
    "去年": -1,
    "前年": -2,
    "大前年": -3,
    "明年": 1,
    "后年": 2,
    "後年": 2,
}
_DAYS = {
    "今": 0,
    "昨": -1,
    "前": -2,
    "大前": -3,
    "明": 1,
    "后": 2,
    "後": 2,
    "大后": 3,
}
_HEADS: dict[str, ModKind] = {
    "自从": "since",
    "自從": "since",
    "从": "from",
    "從": "from",
    "自": "from",
    "直到": "until",
    "截至": "until",
    "截止": "until",
}


_WEEK = r"(?:周|週|星期|礼拜|禮拜)"
_PART = "|".join(part for part in ZH.hours if len(part) > 1)
_CLOCK = (
    rf"(?P<u>{_PART})?(?P<h>(?<![\d.])(?:\d{{1,2}}|十[一二]?|[一二两三四五六七八九]))[点點](?!钟后|儿|子|也|都|点)"
    r"(?:(?P<half>半)|(?P<n>\d{1,2}|[一二三四五]?十[一二三四五六七八九]?)分?)?(?!半|击)"
)
_ONE = r"一(?!起|直|些|样|樣|般|共|下|会|會|個|个|次|天|家|定)|[二三四五六日天末]"
_U = "分钟|分鐘|个?小时|個?小時|个?钟头|天|日|晚|周|週|个?星期|個?星期|个?礼拜|個?禮拜|个月|個月|个?季度|年"


def _unit_name(text: str) -> str:
    return ZH.units[text.lstrip("个個")]


def _on_year(m: TimeRuleMatch) -> Piece | None:
    return DatePart("unit", m.start(), m.end(), unit="year", offset=_YEARS[m[0]])


def _on_week(m: TimeRuleMatch) -> Piece | None:
    """Read 上周二; in "上周一起" the 一 belongs to the next word."""
    offset = _WHICH[m["w"]]
    day = m["d"]
    if day == "末":
        return DatePart("unit", m.start(), m.end(), unit="weekend", offset=offset)
    if day:
        return DatePart(
            "weekday", m.start(), m.end(), index=WEEKDAYS[day], unit="week", offset=offset
        )
    return DatePart("unit", m.start(), m.end(), unit="week", offset=offset)


def _on_month(m: TimeRuleMatch) -> Piece | None:
    return DatePart(
        "unit", m.start(), m.end(), unit="quarter" if m["q"] else "month", offset=_WHICH[m["w"]]
    )


def _on_weekday(m: TimeRuleMatch) -> Piece | None:
    if m["d"] == "末":
        return DatePart("unit", m.start(), m.end(), unit="weekend")
    return DatePart("weekday", m.start(), m.end(), index=WEEKDAYS[m["d"]])


def _on_day(m: TimeRuleMatch) -> Piece | None:
    hours = HOURS[ZH.hours[m["h"]]] if m["h"] else None
    return DatePart("unit", m.start(), m.end(), unit="day", offset=_DAYS[m["w"]], hours=hours)


def _on_ago(m: TimeRuleMatch) -> Piece | None:
    return on_counted(m, _unit_name(m["u"]), 1 if m["f"] else -1)


def _on_stretch(m: TimeRuleMatch) -> Piece | None:
    count = 5 if m["v"] else parse_number(m["n"])
    if m["w"] == "前":
        return DatePart(
            "about",
            m.start(),
            m.end(),
            unit=_unit_name(m["u"]),
            offset=-1,
            count=(1, max(count, 3)),
        )
    sign = 1 if m["w"] in ("未来", "接下来", "今后", "未來", "接下來", "今後") else -1
    return DatePart(
        "stretch", m.start(), m.end(), unit=_unit_name(m["u"]), offset=sign, count=(count, count)
    )


def _on_lately(m: TimeRuleMatch) -> Piece | None:
    return DatePart("stretch", m.start(), m.end(), unit="day", offset=-1, count=(30, 30))


def _on_dom(m: TimeRuleMatch) -> Piece | None:
    return DatePart("dom", m.start(), m.end(), day=parse_number(m["d"]))


def _on_season(m: TimeRuleMatch) -> Piece | None:
    before = m.text[max(0, m.start() - 1) : m.start()]
    return (
        DatePart("season", m.start(), m.end(), index=SEASONS[m["s"]])
        if before and before in "年在个個这這到从的"
        else None
    )


def _on_holiday(m: TimeRuleMatch) -> Piece | None:
    return DatePart("holiday", m.start(), m.end(), name=ZH.holidays[m["h"]])


def _on_clock(m: TimeRuleMatch) -> Piece | None:
    return on_time(ZH.hours, m)


def _on_quarter(m: TimeRuleMatch) -> Piece | None:
    return DatePart("quarter", m.start(), m.end(), index=parse_number(m["q"]) - 1)


def _on_edge(m: TimeRuleMatch) -> Piece | None:
    """Read 年底: of the year before it, or this one."""
    unit = {"年": "year", "月": "month", "周": "week"}.get(m["u"] or "")
    alone = (
        DatePart("unit", m.start(), m.end(), unit=unit, offset=0, edge=ZH.edges[m["e"]])
        if unit
        else None
    )
    return TimeModifier(
        "edge", m.start(), m.end(), suffix=True, name=ZH.edges[m["e"]], instead=alone
    )


def _on_half(m: TimeRuleMatch) -> Piece | None:
    return TimeModifier(
        "nth", m.start(), m.end(), suffix=True, unit="half", count=0 if m["w"] == "上" else -1
    )


def _on_bound(m: TimeRuleMatch) -> Piece | None:
    return TimeModifier(ZH.bounds[m[0]], m.start(), m.end(), suffix=True)


def _on_head(m: TimeRuleMatch) -> Piece | None:
    return TimeModifier(_HEADS[m[0]], m.start(), m.end())


_RULES: tuple[Rule, ...] = (
    *numeric_dates.digit_rules(month_first=False),
    (r"(?:上(?:个|個)?世纪)?(?P<y>(?:19|20)\d0|[3-9]0|[三四五六七八九]十)年代", on_decade),
    (
        rf"(?<![\d一二三四五六七八九十])(?P<y>{YEAR})年(?!级|前的|代|级)(?:(?P<m>{MONTH})月份?(?:(?P<d>{DAY})[日号號](?:[到至~—-](?P<d2>{DAY})[日号號])?)?)?",
        on_date,
    ),
    (
        rf"(?:(?P<v>几|幾|数|數)|(?P<n>{NUMBER}))(?P<u>{_U})(?:多)?(?P<half>半)?(?:(?:以|之)?前|(?P<f>(?:以|之)?[后後]))(?!天|年|面|来|期)",
        _on_ago,
    ),
    (
        r"(?P<half>半)(?P<u>年|个月|個月|天|小时|小時|个小时|個小時)(?:多)?(?:(?:以|之)?前|(?P<f>(?:以|之)?[后後]))",
        _on_ago,
    ),
    (
        rf"(?P<w>过去|過去|最近|近|这|這|前|未来|未來|接下来|接下來|今后|今後)的?(?:(?P<v>几|幾|数|數)|(?P<n>{NUMBER}))(?P<u>{_U})(?:以?来|以?來|里|裡|内|內|间|間)?",
        _on_stretch,
    ),
    (
        r"最近|近来|近來|近日|近期|前阵子|前陣子|前段时间|前段時間|这阵子|這陣子|这段时间|這段時間",
        _on_lately,
    ),
    (r"大前年|前年|去年|今年|本年|明年|后年|後年", _on_year),
    (rf"(?P<w>上上|下下|上|这|這|本|下)(?:个|個)?{_WEEK}(?P<d>{_ONE})?", _on_week),
    (
        r"(?P<w>上上|下下|上|这|這|本|当|下)(?:个|個)?(?:月(?!亮|饼|餅|球|光|经|薪)|(?P<q>季度))",
        _on_month,
    ),
    (rf"(?<![每一二两兩三四五六七八九十几幾\d个個整]){_WEEK}(?P<d>{_ONE})", _on_weekday),
    (
        r"(?P<w>大前|前|昨|今|明|大后|后|後)(?:天|日(?=[早晚上下中凌])|(?<=今)日|(?<=昨)日|(?<=明)日(?!香))",
        _on_day,
    ),
    (r"(?P<w>今|昨|明|前)(?P<h>早(?!已|就)|晚|夜|晨)上?", _on_day),
    (
        rf"(?<![第每\d一二三四五六七八九十个個])(?P<m>{MONTH})月(?!天|亮|饼|餅|球|光|经|薪|台|底薪)份?(?:(?P<d>{DAY})[日号號](?:[到至~—-](?P<d2>{DAY})[日号號])?)?",
        on_date,
    ),
    (
        rf"(?<![第街路巷弄道\d一二三四五六七八九十])(?P<d>{DAY})[号號](?!线|線|楼|樓|门|門|院|馆|館|店|机|機|码|碼|球|室|位|车|車|房|桌)",
        _on_dom,
    ),
    (r"(?P<s>[春夏秋冬])(?:天|季)", _on_season),
    (rf"(?P<h>{'|'.join(ZH.holidays)})(?:节|節)?", _on_holiday),
    (_CLOCK, _on_clock),
    (rf"(?P<u>{_PART})", _on_clock),
    (r"第?(?P<q>[一二三四1-4])季度", _on_quarter),
    (r"(?P<w>上|下)半年", _on_half),
    (
        r"(?P<u>年|月|周)?(?P<e>底|初|中旬|上旬|下旬|末|(?<=[年月])中(?!旬|国|國|心|学|學|午))",
        _on_edge,
    ),
    ("|".join(sorted(ZH.bounds, key=len, reverse=True)), _on_bound),
    ("|".join(sorted(_HEADS, key=len, reverse=True)), _on_head),
)

GRAMMAR = compile_grammar(
    _RULES,
    join=r"\s*[的，,]?\s*",
    links=(r"\s*(?:到|至|-|–|—|~)\s*", r"\s*(?:到|至|和|与|-|~)\s*"),
    touch=r"\s*的?\s*",
    future=r"要|将|將|会|會|打算|准备|準備|计划|計劃|下次|快到",
    clause=r"[，,]",
    spaced=False,
)
