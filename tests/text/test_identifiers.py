"""Identifiers of a text: codes and long numbers, but no amounts, times and years."""

from __future__ import annotations

import pytest

from engrams.text.identifiers import find_identifiers


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What was INC-48213 about?", ["inc-48213"]),
        ("when does LH454 leave, and when BA117?", ["lh454", "ba117"]),
        ("is parcel bobq12003x1 there", ["bobq12003x1"]),
        ("the code is 4711, or 90210", ["4711", "90210"]),
        ("CVE-2023-1234 und CVE-2023-1234", ["cve-2023-1234"]),
        ("what did we do on 2023-05-12, in 2019 and in summer-2020?", []),
        ("at 10pm I ran 12km in the 3rd week, 500mb left, covid-19, q3 and v2", []),
        ("no digits at all", []),
        ("", []),
        ("9" * 200, []),
        (
            " ".join(f"a{number}" for number in range(10, 40)),
            [f"a{number}" for number in range(10, 18)],
        ),
    ],
)
def test_codes_and_long_numbers_are_found(text: str, found: list[str]) -> None:
    """Folded and each once, eight at most; amounts, times and years are none."""
    assert find_identifiers(text) == found
