"""Tables of English time words."""

from __future__ import annotations

from engrams.text.when.grammar import word_table
from engrams.text.when.lexicon import TimeLexicon

_ORDINALS = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth
eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth
twenty-ninth thirtieth thirty-first
"""
ENGLISH = TimeLexicon(
    months=word_table(
        {
            1: "january jan",
            2: "february feb",
            3: "march mar",
            4: "april apr",
            5: "may",
            6: "june jun",
            7: "july jul",
            8: "august aug",
            9: "september sept sep",
            10: "october oct",
            11: "november nov",
            12: "december dec",
        }
    ),
    weekdays=word_table(
        {
            0: "monday mondays mon",
            1: "tuesday tuesdays tues tue",
            2: "wednesday wednesdays weds wed",
            3: "thursday thursdays thurs thur thu",
            4: "friday fridays fri",
            5: "saturday saturdays sat",
            6: "sunday sundays sun",
        }
    ),
    numbers=word_table(
        {
            1: "a an one",
            2: "two",
            3: "three",
            4: "four",
            5: "five",
            6: "six",
            7: "seven",
            8: "eight",
            9: "nine",
            10: "ten",
            11: "eleven",
            12: "twelve",
            13: "thirteen",
            14: "fourteen",
            15: "fifteen",
            16: "sixteen",
            18: "eighteen",
            20: "twenty",
            25: "twenty-five",
            30: "thirty",
            40: "forty",
            50: "fifty",
        }
    ),
    ordinals={word: index for listed in (_ORDINALS, "1st 2nd 3rd 4th 5th") for index, word in enumerate(listed.split(), 1)},
    units={
        word: unit
        for unit, listed in {
            "minute": "minutes minute mins min",
            "hour": "hours hour hrs hr",
            "day": "days day nights night evenings evening mornings morning",
            "week": "weeks week wks wk",
            "weekend": "weekends weekend week-end",
            "month": "months month",
            "quarter": "quarters quarter",
            "year": "years year yrs yr",
            "decade": "decades decade",
            "century": "centuries century",
        }.items()
        for word in listed.split()
    },
    seasons=word_table(
        {0: "spring springtime springs", 1: "summer summertime summers", 2: "fall autumn autumns falls", 3: "winter wintertime winters"}
    ),
    hours={word: word for word in ("morning", "afternoon", "evening", "night", "noon", "midnight")},
    holidays={
        "new year's eve": "silvester",
        "new years eve": "silvester",
        "nye": "silvester",
        "new year's day": "newyear",
        "new years day": "newyear",
        "new year's": "newyear",
        "christmas eve": "eve",
        "christmas day": "christmasday",
        "christmas": "christmas",
        "xmas": "christmas",
        "boxing day": "boxing",
        "halloween": "halloween",
        "thanksgiving": "thanksgiving",
        "black friday": "blackfriday",
        "valentine's day": "valentine",
        "valentines day": "valentine",
        "valentine's": "valentine",
        "st. patrick's day": "patrick",
        "st patrick's day": "patrick",
        "independence day": "independence",
        "fourth of july": "independence",
        "good friday": "goodfriday",
        "easter sunday": "eastersunday",
        "easter monday": "eastermonday",
        "easter": "easter",
        "ash wednesday": "ash",
        "palm sunday": "palm",
    },
    leans={
        "last": -1,
        "past": -1,
        "previous": -1,
        "this past": -1,
        "this last": -1,
        "this": 0,
        "this coming": 1,
        "this upcoming": 1,
        "next": 1,
        "coming": 1,
        "upcoming": 1,
        "following": 1,
    },
    vague={
        "couple": "couple",
        "couple of": "couple",
        "a couple": "couple",
        "a couple of": "couple",
        "few": "few",
        "a few": "few",
        "several": "several",
    },
    edges={
        "early": "early",
        "early part": "early",
        "mid": "mid",
        "middle": "mid",
        "late": "late",
        "beginning": "start",
        "start": "start",
        "end": "end",
        "earlier": "early",
        "later": "late",
    },
    bounds={
        "since": "since",
        "ever since": "since",
        "until": "until",
        "till": "until",
        "til": "until",
        "up to": "until",
        "up until": "until",
        "by": "by",
        "before": "before",
        "prior to": "before",
        "after": "after",
        "from": "from",
        "between": "between",
    },
    plain={
        "the day before yesterday": ("day", -2, ""),
        "day before yesterday": ("day", -2, ""),
        "the day after tomorrow": ("day", 2, ""),
        "day after tomorrow": ("day", 2, ""),
        "yesterday": ("day", -1, ""),
        "today": ("day", 0, ""),
        "tonight": ("day", 0, "night"),
        "tomorrow": ("day", 1, ""),
        "tmrw": ("day", 1, ""),
        "last night": ("day", -1, "night"),
        "last evening": ("day", -1, "evening"),
        "late last night": ("day", -1, "night"),
        "earlier today": ("day", 0, ""),
        "later today": ("day", 0, ""),
        "early this morning": ("day", 0, "morning"),
    },
)
