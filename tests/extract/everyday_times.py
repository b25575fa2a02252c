"""Sentences with the days that they name, told on some day: what resolved times must be.

A row has the language, when it was said (local time with its zone), the sentence, and the answer:
a list of days (``2026-02-27``), spans of days ([first, last]; None: it lasts), ``05-03`` for a day
of every year; "a|b" where either is meant; ``"recurs"``; an empty list where no time is named.
"""

from __future__ import annotations

from typing import TypeAlias

Answer: TypeAlias = str | list[str | list[str | None]]

ROWS: list[tuple[str, str, str, Answer]] = [
    # English: coming by plan words or present tense
    ("en", "2026-02-15T18:00+00:00", "My MRI scan is on the 27th at Southmead.", ["2026-02-27"]),
    ("en", "2026-02-15T18:00+00:00", "My exam is on the 16th.", ["2026-02-16"]),
    (
        "en",
        "2026-02-15T18:00+00:00",
        "I have an interview at Tidewell on the 20th.",
        ["2026-02-20"],
    ),
    ("en", "2026-02-15T18:00+00:00", "My appointment is on Tuesday at 9.", ["2026-02-17"]),
    (
        "en",
        "2026-02-15T18:00+00:00",
        "I go up on the 16th and come back on the 20th.",
        ["2026-02-16", "2026-02-20"],
    ),
    (
        "en",
        "2026-11-24T09:00+00:00",
        "I've scheduled a call with HR for June 14 to discuss the benefits.",
        ["2027-06-14"],
    ),
    (
        "en",
        "2024-08-01T09:00+00:00",
        "I've accepted a freelance contract starting September 1.",
        ["2024-09-01"],
    ),
    (
        "en",
        "2024-04-10T20:00+00:00",
        "I just found out the deadline was extended to May 20.",
        ["2024-05-20"],
    ),
    (
        "en",
        "2024-01-20T20:00+00:00",
        "I've been invited to co-host a live chat on January 28.",
        ["2024-01-28"],
    ),
    ("en", "2024-05-10T08:00+00:00", "I got my Adidas Ultraboost on April 30.", ["2024-04-30"]),
    (
        "en",
        "2024-08-05T08:00+00:00",
        "I just got my Nikes shipped on August 3 at 10:15 AM.",
        ["2024-08-03"],
    ),
    ("en", "2024-01-03T08:00+00:00", "We flew home on December 29.", ["2023-12-29"]),
    ("en", "2024-12-30T21:00+00:00", "The launch is on January 4.", ["2025-01-04"]),
    ("en", "2024-12-30T21:00+00:00", "I signed the lease on the 28th.", ["2024-12-28"]),
    ("en", "2025-03-31T12:00+00:00", "The plumber comes on the 2nd.", ["2025-04-02"]),
    ("en", "2025-03-01T12:00+00:00", "I paid the rent on the 28th.", ["2025-02-28"]),
    ("en", "2022-11-05T12:00+00:00", "John won a big match this Tuesday.", ["2022-11-01"]),
    ("en", "2025-06-11T12:00+00:00", "We met at the fair last Friday.", ["2025-06-06"]),
    ("en", "2025-06-11T12:00+00:00", "Dinner with Ana is next Friday.", ["2025-06-13|2025-06-20"]),
    (
        "en",
        "2025-06-11T12:00+00:00",
        "I was in Graz two weeks ago.",
        [["2025-05-26", "2025-06-01"]],
    ),
    ("en", "2025-06-11T23:30-07:00", "My flight is tomorrow.", ["2025-06-12"]),
    ("en", "2025-06-11T23:30-07:00", "I saw her yesterday.", ["2025-06-10"]),
    (
        "en",
        "2024-05-10T08:00+00:00",
        "3 editing sessions on May 11, May 12 and May 13.",
        ["2024-05-11", "2024-05-12", "2024-05-13"],
    ),
    (
        "en",
        "2025-02-27T08:00+00:00",
        "The course runs from March 3 to March 7.",
        [["2025-03-03", "2025-03-07"]],
    ),
    # recurring, or no time at all
    ("en", "2024-08-14T08:00+00:00", "I have yoga on Tuesday and Thursday.", "recurs"),
    (
        "en",
        "2024-08-14T08:00+00:00",
        "Our deploy window is Tuesday and Thursday 10 to 12.",
        "recurs",
    ),
    ("en", "2024-08-14T08:00+00:00", "Bin day is Wednesday now.", "recurs"),
    ("en", "2024-08-14T08:00+00:00", "I see my therapist every other Friday.", "recurs"),
    ("en", "2024-08-14T08:00+00:00", "I work from home on Mondays.", "recurs"),
    ("en", "2024-08-14T08:00+00:00", "I also started reading 11/22/63 by Stephen King.", []),
    (
        "en",
        "2025-09-01T08:00+00:00",
        "I've enrolled in a November 10 course on UK employment law.",
        ["2025-11-10"],
    ),
    ("en", "2024-05-20T08:00+00:00", "I went with June 15 to maintain momentum.", []),
    ("en", "2024-05-20T08:00+00:00", "My phone is a Pixel 8 and the car is a 2015 Toyota.", []),
    ("en", "2024-05-20T08:00+00:00", "I love the sea in June.", []),
    ("en", "2024-05-20T08:00+00:00", "My birthday is May 3.", ["05-03"]),
    # German
    ("de", "2026-02-15T18:00+01:00", "Mein MRT ist am 27. im Klinikum.", ["2026-02-27"]),
    ("de", "2026-02-15T18:00+01:00", "Am Dienstag habe ich einen Zahnarzttermin.", ["2026-02-17"]),
    ("de", "2026-02-15T18:00+01:00", "Am Dienstag war ich beim Zahnarzt.", ["2026-02-10"]),
    ("de", "2025-12-30T18:00+01:00", "Wir ziehen am 7. März nach Lissabon.", ["2026-03-07"]),
    ("de", "2025-01-02T18:00+01:00", "Am 28. Dezember sind wir umgezogen.", ["2024-12-28"]),
    ("de", "2025-06-11T12:00+02:00", "Ich habe dienstags und donnerstags Chor.", "recurs"),
    ("de", "2025-06-11T12:00+02:00", "Seit 2019 wohne ich in Köln.", [["2019-01-01", None]]),
    # Spanish
    ("es", "2026-02-15T18:00+01:00", "Tengo cita con el dentista el día 20.", ["2026-02-20"]),
    ("es", "2026-02-15T18:00+01:00", "El martes tengo una entrevista.", ["2026-02-17"]),
    ("es", "2026-02-15T18:00+01:00", "El martes pasado fui al médico.", ["2026-02-10"]),
    ("es", "2025-12-30T18:00+01:00", "Nos mudamos a Málaga el 3 de enero.", ["2026-01-03"]),
    ("es", "2025-06-11T12:00+02:00", "Los jueves juego al pádel.", "recurs"),
    ("es", "2025-01-02T12:00+01:00", "Firmé el contrato el 29 de diciembre.", ["2024-12-29"]),
    # French
    ("fr", "2026-02-15T18:00+01:00", "Mon examen est le 20.", ["2026-02-20"]),
    ("fr", "2026-02-15T18:00+01:00", "J'ai rendez-vous mardi à 9 h.", ["2026-02-17"]),
    ("fr", "2026-02-15T18:00+01:00", "Mardi dernier, j'ai vu le médecin.", ["2026-02-10"]),
    ("fr", "2025-12-30T18:00+01:00", "On déménage le 4 janvier.", ["2026-01-04"]),
    ("fr", "2025-06-11T12:00+02:00", "Tous les jeudis, je vais à la chorale.", "recurs"),
    # Chinese
    ("zh", "2026-02-15T18:00+08:00", "我20号有面试。", ["2026-02-20"]),
    (
        "zh",
        "2026-02-15T18:00+08:00",
        "下周二我去看牙医。",
        [
            "2026-02-17",
        ],
    ),
    ("zh", "2026-02-15T18:00+08:00", "上周五我见了李雷。", ["2026-02-06"]),
    ("zh", "2025-06-11T12:00+08:00", "我每周四去游泳。", "recurs"),
    # Japanese
    ("ja", "2026-02-15T18:00+09:00", "27日に検査があります。", ["2026-02-27"]),
    ("ja", "2026-02-15T18:00+09:00", "火曜日に面接があります。", ["2026-02-17"]),
    ("ja", "2025-06-11T12:00+09:00", "毎週木曜日にヨガをしています。", "recurs"),
]
