"""The part of a clause that ends, where the clause says several things: enter at ``narrow_to_part``.

"I have a dog and a cat" says two things, and "the cat died" ends one of them.
"""

from __future__ import annotations

from engrams.text.clause_kinds import holds_verb
from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold
from engrams.write.change_detection.features import MessageClause, read_clause, read_values
from engrams.write.change_detection.replacement_evidence import list_general_words

_JOINTS = late_pattern(r",\s+(?:(?i:and|und|y|et)\s+)?|\s+(?i:and|und|y|et|plus|&)\s+")
_OWN_PART = late_pattern(
    r"(?:an?|the|my|our|no|ein\w*|kein\w*|mein\w*|un\w?|mi|une|mon|ma|pas)\s|.*\d"
)
"""Beginning, or value, of a part without a verb that says something of its own."""


def narrow_to_part(ending: str, news: str) -> str:
    """Return the part of an ending clause that a newer clause is about.

    All of it where that is about every part or none, and where the parts share a verb that comes
    after them.
    """
    parts = _split_parts(ending)
    if len(parts) < 2 or not holds_verb(ending[slice(*parts[0])]):
        return ending
    new = read_clause(news)
    named_parts = [part for part in parts if read_clause(ending[slice(*part)]).words <= new.words]
    matching = named_parts or [
        part for part in parts if _is_about(read_clause(ending[slice(*part)]), new)
    ]
    if not matching or len(matching) == len(parts):
        return ending
    start = matching[0][0]
    end = matching[-1][1]
    are_neighbours = parts.index(matching[-1]) - parts.index(matching[0]) == len(matching) - 1
    return ending[start:end] if are_neighbours else ending


def list_parts(clause: str) -> list[str]:
    """List the parts of a clause of several that each have a verb; none if one has not."""
    parts = [clause[slice(*part)] for part in _split_parts(clause)]
    return parts if len(parts) > 1 and all(map(holds_verb, parts)) else []


def _split_parts(clause: str) -> list[tuple[int, int]]:
    """Split a clause at commas and "and" into the places of its parts."""
    parts: list[tuple[int, int]] = []
    start = 0
    for joint in _JOINTS.finditer(clause):
        following = clause[joint.end() :]
        if joint[0].strip() == "," and not _says_own(_JOINTS.split(following, maxsplit=1)[0]):
            continue
        parts.append((start, joint.start()))
        start = joint.end()
    return [*parts, (start, len(clause.rstrip(" .!")))]


def _says_own(part: str) -> bool:
    """True unless a part after a comma only names more exactly what stands before it: "Lyon, France"."""
    return holds_verb(part) or bool(_OWN_PART.match(fold(part)))


def _is_about(part: MessageClause, new: MessageClause) -> bool:
    """True if a part and a newer clause share a word, or the newer has another value for its own."""
    if part.words & new.words - list_general_words():
        return True
    part_values = read_values(part.text)
    new_values = read_values(new.text)
    return any(
        part_values[key].isdisjoint(new_values[key])
        for key in part_values.keys() & new_values.keys()
    )
