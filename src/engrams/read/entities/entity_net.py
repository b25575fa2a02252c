"""Entities from the names of many memories: their kinds, other names and links.

``build_net`` is the way in. Names are counted, each gets the kind with most evidence, names of one
person become one, and entities that memories bring together are linked. A name is looked up by its
key: its folded words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import combinations

from engrams.core import Entity, EntityKind, EntityLink, EntityNet
from engrams.read.entities.entity_kind_words import PROJECTS
from engrams.read.entities.name_finder import MemoryNames, NameCandidate
from engrams.read.entities.name_vocabulary import (
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
_LISTED_VOTES = 2
"""Votes of a list of names."""
_ANIMAL_VOTES = 3
"""Votes of "my dog Max", where Max is listed as a person's name."""
_SPEAKER_VOTES = 5
"""Votes of having spoken."""
_BEINGS = (EntityKind.PERSON, EntityKind.ANIMAL, EntityKind.WORK)
"""Kinds of which names are often ordinary words."""
_MOST_TOGETHER = 8
"""Entities of one memory that are linked with each other."""
_LONGEST_PERSON = 3
"""Words of the longest name that a first name makes a person's."""
_SHORTEST_ADDRESSED = 2
_SHORTEST_SHORT_NAME = 3


@dataclass(slots=True)
class NameTally:
    """Mentions of one name."""

    spellings: Counter[str] = field(default_factory=Counter)
    votes: Counter[EntityKind] = field(default_factory=Counter)
    memories: set[str] = field(default_factory=set)
    """Ids of memories that have it within a sentence."""
    opening: set[str] = field(default_factory=set)
    """Ids of memories that have it where a sentence begins, and a capital means nothing."""


@dataclass(frozen=True, slots=True)
class _NameCollection:
    """Names of all memories, with what is known of them as a whole."""

    by_memory: Mapping[str, MemoryNames]
    lower_words: Set[str]
    """Words that some memory has in lower case."""
    speakers: Mapping[str, str]
    """Names of speakers by key."""


def build_net(names_by_memory: Mapping[str, MemoryNames]) -> EntityNet:
    """Build entities from the names of memories, by their ids; pure."""
    names = _NameCollection(
        by_memory=names_by_memory,
        lower_words={word for names in names_by_memory.values() for word in names.lower_words},
        speakers={
            _key(names.speaker.split()): names.speaker
            for names in names_by_memory.values()
            if names.speaker
        },
    )
    tallies = _count_names(names)
    kinds: dict[str, EntityKind] = {}
    for key, tally in tallies.items():
        kind = _decide_kind(key, tally, names)
        if kind is not None:
            kinds[key] = kind
    user = _find_user(names)
    if user:
        kinds[user] = EntityKind.PERSON
    mains = _merge_names(names, tallies, kinds, user)
    mentions = _collect_mentions(names, tallies, kinds, mains)
    if user:
        mentions.setdefault(mains.get(user, user), set()).update(
            record_id
            for record_id, memory_names in names_by_memory.items()
            if memory_names.is_about_user
        )
    entities = [
        _make_entity(main, kinds.get(main, EntityKind.PERSON), record_ids, tallies, mains)
        for main, record_ids in mentions.items()
        if record_ids
    ]
    entities += [
        Entity(PREFIX + theme.name, theme.name, EntityKind.THEME, _newest_first(theme.memories))
        for theme in find_themes(names_by_memory)
    ]
    return _link(_rank_distinct(entities), names, mains)


def _count_names(names: _NameCollection) -> dict[str, NameTally]:
    tallies = {
        key: NameTally(Counter((speaker,)), Counter({EntityKind.PERSON: _SPEAKER_VOTES}))
        for key, speaker in names.speakers.items()
    }
    for record_id, memory_names in names.by_memory.items():
        for candidate in memory_names.names:
            words, opens_sentence = _trim(candidate, names.lower_words)
            tally = tallies.setdefault(_key(words), NameTally())
            tally.spellings[" ".join(words)] += 1
            for kind in candidate.kinds:
                tally.votes[kind] += _ANIMAL_VOTES if kind is EntityKind.ANIMAL else 1
            if opens_sentence and not candidate.possessive:
                tally.opening.add(record_id)
            else:
                tally.memories.add(record_id)
    return tallies


def _trim(candidate: NameCandidate, lower_words: Set[str]) -> tuple[Sequence[str], bool]:
    """Leave out a word that only begins the sentence: "Yesterday Emma".

    The words that are left, and whether they begin the sentence.
    """
    words = candidate.words
    if not candidate.opens_sentence:
        return words, False
    if len(words) > 1 and _is_plain_word(fold(words[0]), lower_words):
        return words[1:], False
    return words, True


def _is_plain_word(word: str, lower_words: Set[str]) -> bool:
    """True for a folded word that is no name by itself."""
    if word in STOP:
        return True
    return word in lower_words and word not in FIRST_NAMES and word not in PLACES


def _key(words: Sequence[str]) -> str:
    key = " ".join(fold(word) for word in words)
    return SAME_NAME.get(key, key)


# --------------------------------------------------------------------------------------------------
# kinds


def _decide_kind(key: str, tally: NameTally, names: _NameCollection) -> EntityKind | None:
    """Kind with most evidence; None without any, or for a tie."""
    listed = _listed_kind(key, names.lower_words)
    if not tally.memories and listed is None and key not in names.speakers:
        return None
    is_plain = _is_plain_name(key, names.lower_words)
    votes = Counter(
        {kind: count for kind, count in tally.votes.items() if kind in _BEINGS or not is_plain}
    )
    if listed is not None:
        votes[listed] += _LISTED_VOTES
    ranked = votes.most_common(2)
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def _is_plain_name(key: str, lower_words: Set[str]) -> bool:
    """True for a name of ordinary words only: "Project Structure"."""
    words = [word for word in key.split(" ") if word not in PROJECTS] or [key]
    return all(_is_plain_word(word, lower_words) for word in words)


def _listed_kind(key: str, lower_words: Set[str]) -> EntityKind | None:
    """Kind that the lists of names tell; None: none of them has it."""
    words = key.split(" ")
    if key in PLACES and key not in UNSURE_PLACES and key not in FIRST_NAMES:
        return EntityKind.PLACE
    if key in ORGANISATIONS:
        return EntityKind.ORGANISATION
    has_first_name = words[0] in FIRST_NAMES or (len(words) > 1 and words[0] in NICKNAMES)
    if not has_first_name or words[0] in ALSO_WORDS or key in PLACES:
        return None
    if len(words) <= _LONGEST_PERSON and not any(word in lower_words for word in words[1:]):
        return EntityKind.PERSON
    return None


# --------------------------------------------------------------------------------------------------
# one entity of several names


def _find_user(names: _NameCollection) -> str:
    """Key of the user's name, the newest that they gave; empty: unknown."""
    user = ""
    for record_id in sorted(names.by_memory):
        memory_names = names.by_memory[record_id]
        if memory_names.own_names and not memory_names.speaker:
            user = _key(memory_names.own_names[0].split())
    return user


def _merge_names(
    names: _NameCollection,
    tallies: Mapping[str, NameTally],
    kinds: Mapping[str, EntityKind],
    user: str,
) -> dict[str, str]:
    """Map names to the one they stand for; only what is unambiguous."""
    mains: dict[str, str] = {}
    people = {key for key, kind in kinds.items() if kind is EntityKind.PERSON}
    principals = {*names.speakers, user} - {""}
    # A user who speaks by name is known as a speaker.
    nameless = "" if user in names.speakers else user
    for memory_names in names.by_memory.values():
        main = _key(memory_names.speaker.split()) if memory_names.speaker else nameless
        for own_name in memory_names.own_names:
            key = _key(own_name.split())
            if main and key != main and key not in principals:
                mains[key] = main
    full_names = [key for key in people if " " in key]
    for key in people - mains.keys():
        same_first_name = [full for full in full_names if full.split(" ")[0] == key]
        if " " not in key and len(same_first_name) == 1:
            mains[key] = same_first_name[0]
    for key, tally in tallies.items():
        is_person = kinds.get(key, EntityKind.PERSON) is EntityKind.PERSON
        if key in mains or key in principals or " " in key or not is_person or not tally.memories:
            continue
        is_addressed = bool(tally.votes[EntityKind.PERSON])
        shortest = _SHORTEST_ADDRESSED if is_addressed else _SHORTEST_SHORT_NAME
        long_forms = [
            principal
            for principal in principals
            if _is_short_for(key, principal.split(" ")[0], shortest)
        ]
        if len(long_forms) == 1:
            mains[key] = long_forms[0]
    return {key: _follow(key, mains) for key in mains}


def _is_short_for(short: str, name: str, shortest: int) -> bool:
    if name in NICKNAMES.get(short, ()):
        return True
    return (
        shortest <= len(short) < len(name)
        and name.startswith(short)
        and short not in FIRST_NAMES
        and short not in ALSO_WORDS
    )


def _follow(key: str, mains: Mapping[str, str]) -> str:
    """Follow a name to the one that it stands for in the end."""
    passed = {key}
    main = mains.get(key, key)
    while main not in passed:
        passed.add(main)
        key = main
        main = mains.get(key, key)
    return key


def _collect_mentions(
    names: _NameCollection,
    tallies: Mapping[str, NameTally],
    kinds: Mapping[str, EntityKind],
    mains: Mapping[str, str],
) -> dict[str, set[str]]:
    """Collect the memories that mention each entity, by its main name."""
    mentions = {main: set[str]() for main in kinds if mains.get(main, main) == main}
    for key in {*kinds, *mains}:
        tally = tallies.get(key, NameTally())
        is_word = key in ALSO_WORDS or _is_plain_word(key, names.lower_words)
        main_mentions = mentions.setdefault(mains.get(key, key), set())
        main_mentions |= tally.memories
        if key in names.speakers or not is_word:
            main_mentions |= tally.opening
    return mentions


# --------------------------------------------------------------------------------------------------
# entities and links


def _make_entity(
    main: str,
    kind: EntityKind,
    record_ids: Set[str],
    tallies: Mapping[str, NameTally],
    mains: Mapping[str, str],
) -> Entity:
    keys = [key for key in (main, *sorted(mains)) if mains.get(key, key) == main and key in tallies]
    spellings = [tallies[key].spellings.most_common(1)[0][0] for key in keys]
    name = spellings[0] if main in tallies else main.title()
    return Entity(
        id=PREFIX + main,
        name=name,
        kind=kind,
        memories=_newest_first(record_ids),
        aliases=tuple(dict.fromkeys(spelling for spelling in spellings if spelling != name)),
    )


def _newest_first(record_ids: Set[str]) -> tuple[str, ...]:
    return tuple(sorted(record_ids, reverse=True))


def _rank_distinct(entities: Sequence[Entity]) -> list[Entity]:
    """Rank the entities, most mentioned first, each id once."""
    ranked = sorted(entities, key=lambda entity: (-len(entity.memories), entity.id))
    # The last of equal ids in a dict counts: reversed, that is the one most mentioned.
    return list({entity.id: entity for entity in reversed(ranked)}.values())[::-1]


def _link(
    entities: Sequence[Entity], names: _NameCollection, mains: Mapping[str, str]
) -> EntityNet:
    """Link entities that memories bring together."""
    by_memory: dict[str, list[str]] = {}
    for entity in entities:
        for record_id in entity.memories:
            by_memory.setdefault(record_id, []).append(entity.id)
    entity_ids = {entity.id for entity in entities}
    together: Counter[tuple[str, str]] = Counter()
    for record_id, mentioned in by_memory.items():
        linked = set(mentioned[:_MOST_TOGETHER])
        speaker = _find_speaker(names.by_memory.get(record_id), mains)
        if speaker in entity_ids:
            linked.add(speaker)
        together.update(combinations(sorted(linked), 2))
    links = tuple(
        EntityLink(source, target, count) for (source, target), count in together.most_common()
    )
    return EntityNet(
        entities=tuple(entities),
        links=links,
        by_memory={record_id: tuple(mentioned) for record_id, mentioned in by_memory.items()},
    )


def _find_speaker(names: MemoryNames | None, mains: Mapping[str, str]) -> str:
    """Id of the entity that said a memory; empty: nobody that has a name."""
    if names is None or not names.speaker:
        return ""
    key = _key(names.speaker.split())
    return PREFIX + mains.get(key, key)
