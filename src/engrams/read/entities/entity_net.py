"""Entities from the names of many memories: kinds, aliases, links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import field
from itertools import combinations

from engrams.core import Entity, EntityKind, EntityLink, EntityNet
from engrams.frozen_data import dataclass
from engrams.read.entities.cue_words import PROJECTS
from engrams.read.entities.name_finder import FoundName, MemoryNames
from engrams.read.entities.name_lists import (
    ALSO_WORDS,
    FIRST_NAMES,
    NICKNAMES,
    ORGANISATIONS,
    PLACES,
    SAME_NAME,
    UNSURE_PLACES,
)
from engrams.read.entities.themes import find_themes
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP

PREFIX = "entity:"
_LISTED = 2
_TOLD = 3
_SPOKE = 5
"""Votes of a list of names, of "my dog Max" (where Max is listed as a person's name), and of having
spoken.
"""
_BEINGS = (EntityKind.PERSON, EntityKind.ANIMAL, EntityKind.WORK)
"""Kinds of which names are often ordinary words."""
_MOST_TOGETHER = 8
"""Entities of one memory that are linked with each other."""


@dataclass(slots=True)
class NameTally:
    """Mentions of one name: spellings, votes for kinds, memories.

    ``opening``: memories that have it only where a sentence begins.
    """

    spellings: Counter[str] = field(default_factory=Counter)
    votes: Counter[EntityKind] = field(default_factory=Counter)
    memories: set[str] = field(default_factory=set)
    opening: set[str] = field(default_factory=set)


def build_net(found: Mapping[str, MemoryNames]) -> EntityNet:
    """Build entities from the names of memories, by their ids; pure."""
    lower = {word for names in found.values() for word in names.lower}
    speakers = {
        _key(names.speaker.split()): names.speaker for names in found.values() if names.speaker
    }
    tallies = _count_names(found, lower, speakers)
    kinds = {
        key: kind
        for key, tally in tallies.items()
        if (kind := _decide_kind(key, tally, lower, speakers)) is not None
    }
    user = _find_user(found, kinds)
    mains = _merge_names(found, tallies, kinds, {*speakers, user} - {""})
    mentions = {main: set[str]() for main in kinds if mains.get(main, main) == main}
    for key in {*kinds, *mains}:
        tally = tallies.get(key, NameTally())
        main = mains.get(key, key)
        sure = key in speakers or not _is_word(key, lower)
        mentions.setdefault(main, set()).update(
            tally.memories | tally.opening if sure else tally.memories
        )
    if user:
        mentions.setdefault(mains.get(user, user), set()).update(
            id for id, names in found.items() if names.of_user
        )
    entities = [
        _make_entity(main, kinds.get(main, EntityKind.PERSON), ids, tallies, mains)
        for main, ids in mentions.items()
        if ids
    ]
    entities += [
        Entity(PREFIX + theme.name, theme.name, EntityKind.THEME, _newest(theme.memories))
        for theme in find_themes(found)
    ]
    entities = _distinct(entities)
    return _link(entities, found, mains)


def _count_names(
    found: Mapping[str, MemoryNames], lower: Set[str], speakers: Mapping[str, str]
) -> dict[str, NameTally]:
    tallies = {
        key: NameTally(Counter((speaker,)), Counter({EntityKind.PERSON: _SPOKE}))
        for key, speaker in speakers.items()
    }
    for id, names in found.items():
        for name in names.names:
            words, opens = _trim(name, lower)
            tally = tallies.setdefault(_key(words), NameTally())
            tally.spellings[" ".join(words)] += 1
            for kind in name.kinds:
                tally.votes[kind] += _TOLD if kind is EntityKind.ANIMAL else 1
            (tally.opening if opens and not name.owns else tally.memories).add(id)
    return tallies


def _trim(name: FoundName, lower: Set[str]) -> tuple[Sequence[str], bool]:
    """Leave out a word that only begins the sentence: "Yesterday Emma"."""
    words = name.words
    opens = name.opens
    while opens and len(words) > 1 and _is_plain(fold(words[0]), lower):
        words = words[1:]
        opens = False
    return words, opens


def _is_plain(word: str, lower: Set[str]) -> bool:
    return word in STOP or (word in lower and word not in FIRST_NAMES and word not in PLACES)


def _key(words: Sequence[str]) -> str:
    key = " ".join(fold(word) for word in words)
    return SAME_NAME.get(key, key)


def _is_word(key: str, lower: Set[str]) -> bool:
    """True for a name that is an ordinary word as well."""
    return key in ALSO_WORDS or _is_plain(key, lower)


def _decide_kind(
    key: str, tally: NameTally, lower: Set[str], speakers: Mapping[str, str]
) -> EntityKind | None:
    """Kind with most evidence; None without any, or for a tie."""
    listed = _listed_kinds(key, lower)
    if not tally.memories and not listed and key not in speakers:
        return None
    sure = {
        kind: number
        for kind, number in tally.votes.items()
        if kind in _BEINGS or not _is_plain_name(key, lower)
    }
    votes = Counter(sure) + Counter(listed)
    ranked = votes.most_common(2)
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def _is_plain_name(key: str, lower: Set[str]) -> bool:
    """True for a name of ordinary words only: "Project Structure"."""
    words = [word for word in key.split(" ") if word not in PROJECTS] or [key]
    return all(_is_plain(word, lower) for word in words)


def _listed_kinds(key: str, lower: Set[str]) -> dict[EntityKind, int]:
    words = key.split(" ")
    if key in PLACES and key not in UNSURE_PLACES and key not in FIRST_NAMES:
        return {EntityKind.PLACE: _LISTED}
    if key in ORGANISATIONS:
        return {EntityKind.ORGANISATION: _LISTED}
    given = words[0] in FIRST_NAMES or (len(words) > 1 and words[0] in NICKNAMES)
    named = given and words[0] not in ALSO_WORDS and key not in PLACES
    if named and len(words) <= 3 and not any(word in lower for word in words[1:]):
        return {EntityKind.PERSON: _LISTED}
    return {}


def _find_user(found: Mapping[str, MemoryNames], kinds: dict[str, EntityKind]) -> str:
    """Key of the user's name, the newest that they gave; empty: unknown."""
    newest = ""
    for id in sorted(found):
        if found[id].calls and not found[id].speaker:
            newest = _key(found[id].calls[0].split())
    if newest:
        kinds[newest] = EntityKind.PERSON
    return newest


def _merge_names(
    found: Mapping[str, MemoryNames],
    tallies: Mapping[str, NameTally],
    kinds: Mapping[str, EntityKind],
    known: Set[str],
) -> dict[str, str]:
    """Map names to the one they stand for; only what is unambiguous.

    ``known``: speakers and the user, for whom short names are looked up.
    """
    mains: dict[str, str] = {}
    people = {key for key, kind in kinds.items() if kind is EntityKind.PERSON}
    speakers = {_key(names.speaker.split()) for names in found.values() if names.speaker}
    user = next(iter(sorted(known - speakers)), "")
    for names in found.values():
        main = _key(names.speaker.split()) if names.speaker else user
        for call in map(str.split, names.calls):
            if main and _key(call) != main and _key(call) not in known:
                mains[_key(call)] = main
    fulls = [key for key in people if " " in key]
    for key in people - mains.keys():
        if (
            " " not in key
            and len(same := [full for full in fulls if full.split(" ")[0] == key]) == 1
        ):
            mains[key] = same[0]
    for key, tally in tallies.items():
        if (
            key in mains
            or key in known
            or " " in key
            or kinds.get(key, EntityKind.PERSON) is not EntityKind.PERSON
            or not tally.memories
        ):
            continue
        addressed = bool(tally.votes[EntityKind.PERSON])
        stands_for = [
            name for name in known if _is_short_for(key, name.split(" ")[0], 2 if addressed else 3)
        ]
        if len(stands_for) == 1:
            mains[key] = stands_for[0]
    return {key: _follow(key, mains) for key in mains}


def _is_short_for(short: str, name: str, least: int) -> bool:
    if name in NICKNAMES.get(short, ()):
        return True
    return (
        least <= len(short) < len(name)
        and name.startswith(short)
        and short not in FIRST_NAMES
        and short not in ALSO_WORDS
    )


def _follow(key: str, mains: Mapping[str, str]) -> str:
    seen = {key}
    while (main := mains.get(key, key)) not in seen:
        seen.add(main)
        key = main
    return key


def _make_entity(
    main: str,
    kind: EntityKind,
    ids: Set[str],
    tallies: Mapping[str, NameTally],
    mains: Mapping[str, str],
) -> Entity:
    own = [key for key in (main, *sorted(mains)) if mains.get(key, key) == main and key in tallies]
    names = [tallies[key].spellings.most_common(1)[0][0] for key in own]
    name = names[0] if main in tallies else main.title()
    return Entity(
        id=PREFIX + main,
        name=name,
        kind=kind,
        memories=_newest(ids),
        aliases=tuple(dict.fromkeys(each for each in names if each != name)),
    )


def _newest(ids: Set[str]) -> tuple[str, ...]:
    return tuple(sorted(ids, reverse=True))


def _distinct(entities: Sequence[Entity]) -> list[Entity]:
    """One entity an id, most mentioned first."""
    ranked = sorted(entities, key=lambda each: (-len(each.memories), each.id))
    return list({each.id: each for each in reversed(ranked)}.values())[::-1]


def _link(
    entities: Sequence[Entity], found: Mapping[str, MemoryNames], mains: Mapping[str, str]
) -> EntityNet:
    """Link entities that memories bring together."""
    by_memory: dict[str, list[str]] = {}
    for entity in entities:
        for id in entity.memories:
            by_memory.setdefault(id, []).append(entity.id)
    known = {entity.id for entity in entities}
    together: Counter[tuple[str, str]] = Counter()
    for id, mentioned in by_memory.items():
        near = {*mentioned[:_MOST_TOGETHER], *_speaker_entity(found.get(id), mains, known)}
        if len(near) > 1:
            together.update(combinations(sorted(near), 2))
    links = tuple(EntityLink(one, other, number) for (one, other), number in together.most_common())
    return EntityNet(
        tuple(entities), links, {id: tuple(mentioned) for id, mentioned in by_memory.items()}
    )


def _speaker_entity(
    names: MemoryNames | None, mains: Mapping[str, str], known: Set[str]
) -> Iterator[str]:
    if names is not None and names.speaker:
        key = _key(names.speaker.split())
        if (id := PREFIX + mains.get(key, key)) in known:
            yield id
