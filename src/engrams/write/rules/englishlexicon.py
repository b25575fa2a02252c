"""English verb forms and small word classes for the parser."""

from __future__ import annotations

from typing import Literal, TypeAlias

from engrams.write.wordlist import word_set

VerbForm: TypeAlias = Literal["base", "s", "past", "part", "ing"]

# base past participle; a form equal to the one before it may be omitted.
_IRREGULAR = """
be was been|beat beat beaten|become became become|begin began begun|bend bent|bet bet|bite bit bitten|bleed bled|blow blew blown
break broke broken|bring brought|build built|burn burned|buy bought|catch caught|choose chose chosen|come came come|cost cost
cut cut|deal dealt|dig dug|do did done|draw drew drawn|dream dreamed|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen
feed fed|feel felt|fight fought|find found|flee fled|fly flew flown|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen
get got gotten|give gave given|go went gone|grow grew grown|hang hung|have had|hear heard|hide hid hidden|hit hit|hold held|hurt hurt
keep kept|know knew known|lay laid|lead led|learn learned|leave left|lend lent|let let|lie lay lain|light lit|lose lost|make made|mean meant
meet met|pay paid|put put|quit quit|read read|ride rode ridden|ring rang rung|rise rose risen|run ran run|say said|see saw seen|sell sold
send sent|set set|sew sewed sewn|shake shook shaken|shine shone|shoot shot|show showed shown|shut shut|sing sang sung|sit sat|sleep slept
slide slid|speak spoke spoken|spend spent|split split|spread spread|stand stood|steal stole stolen|stick stuck|swear swore sworn
sweep swept|swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown
understand understood|wake woke woken|wear wore worn|weave wove woven|win won|withdraw withdrew withdrawn|write wrote written
overcome overcame overcome|undergo underwent undergone|babysit babysat|rewrite rewrote rewritten|rebuild rebuilt|outgrow outgrew outgrown
"""

_REGULAR = """
accept achieve act adapt add admire adopt adore agree aim allow analyze answer apply appreciate approve argue arrange arrive ask assemble
assign assist attempt attend audition automate avoid bake ban base believe belong bike blog board boil book bother breed brew brush burn
cancel camp
care carve celebrate chair change chase chat check chill claim clean climb close coach code collaborate collect color combine commit commute
compare compete complain complete compose concentrate conduct configure connect consider construct contact contain continue contribute
convert
cook cope count cover craft crash create crochet cross cry customize cycle dance date debug decide decorate dedicate defend delay deliver
demolish
deploy
deserve design detest develop diagnose diet direct discover discuss dislike dive divorce document donate doubt download dress drop earn edit
embrace employ empty enable encourage engage enjoy enlist enroll enter escape establish estimate evaluate examine exchange exercise exhibit
exist expand expect experience experiment explain explore express face fail fast favor fear figure file fill film finalize finish fire
fish fix
focus follow force foster found fund gain garden gather graduate greet guard guess guide handle happen harvest hate head heal help hike hire
hope host hug hunt identify imagine immigrate implement improve include increase inherit injure inspire install integrate intend
interview introduce
invent invest invite iron jog join joke journal juggle jump kayak kick kill kiss knit knock know lack land laugh launch lease lift
like limit
link listen live load loathe locate look love maintain major manage marry master match measure meditate memorize mention mentor merge
migrate mind
miss mix model monitor motivate mount move name need network note notice nurse obtain offer open operate opt optimize order organize own
pack
paint park
participate partner pass perform photograph pick place plan plant play post pour practice practise pray prefer prepare present prevent
print prioritize process
produce program progress promise promote propose protect prove provide publish pull purchase push qualify race raise rank reach realize
rebuild receive
recommend record recover recycle reduce refactor refer reflect refuse register rehearse reject relate relax release relocate remain
remember remind
remodel remove renew renovate rent repair repeat replace report request require rescue research reserve reside resign resist respond rest
restore
retire return reunite review roast row sail save schedule score scrapbook search seem select separate serve settle share shift ship shop
sign simplify skate sketch
ski skip smile smoke snap snowboard socialize solve sort spot sponsor squeeze stain start stay stop store stream stretch strive streamline
struggle
study submit
succeed suffer suggest suit supply support suppose surf surprise survive switch tackle talk taste tattoo tend test thank thrive tire
touch tour trade
train transfer transform transition translate travel treat trek trim trust try troubleshoot turn tutor type uncover unlock update upgrade
upload use
value venture
view visit volunteer wait walk want warn wash waste watch water wish witness wonder work worry worship wrap yell zip
"""

_DOUBLE = word_set(
    "drop plan shop stop skip chat jog hug ban beg bet cut dig fit get grab hit jam knit let log map nap net pat pop put"
    " quit rob rub run set ship sit skim slip snap spot step swim swap tap tip trim trip win wrap zip begin forget prefer"
    " refer commit admit occur permit submit equip bat babysit rebut program rewrap refit reset transfer enrol"
)


def _doubles_last(verb: str) -> bool:
    """True if the last letter doubles: tag, hop."""
    vowels = sum(char in "aeiou" for char in verb)
    return verb in _DOUBLE or (2 < len(verb) < 6 and vowels == 1 and verb[-2] in "aeiou" and verb[-1] not in "aeiouwxy")


def _make_gerund(verb: str) -> str:
    if _doubles_last(verb):
        return f"{verb}{verb[-1]}ing"
    if verb in ("be", "see", "flee", "agree", "dye"):
        return f"{verb}ing"
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    return f"{verb[:-1]}ing" if verb.endswith("e") else f"{verb}ing"


def _make_past(verb: str) -> str:
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}{verb[-1]}ed" if _doubles_last(verb) else f"{verb}ed"


def third_person(verb: str) -> str:
    """Return the form for he, she and it: lives, goes, has."""
    if verb in ("have", "be", "do", "go"):
        return {"have": "has", "be": "is", "do": "does", "go": "goes"}[verb]
    if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh")) else f"{verb}s"


def _build_tables() -> tuple[dict[str, tuple[str, frozenset[VerbForm]]], dict[str, tuple[str, str, str]]]:
    forms: dict[str, dict[str, set[VerbForm]]] = {}
    parts: dict[str, tuple[str, str, str]] = {}

    def learn(word: str, base: str, form: VerbForm) -> None:
        forms.setdefault(word, {}).setdefault(base, set()).add(form)

    rows = [row.split() for line in _IRREGULAR.strip().splitlines() for row in line.split("|")]
    rows += [[verb, _make_past(verb)] for verb in _REGULAR.split()]
    for row in rows:
        base, past = row[0], row[1]
        part = row[2] if len(row) > 2 else past
        parts.setdefault(base, (past, part, _make_gerund(base)))
        shapes: tuple[tuple[str, VerbForm], ...] = (
            (base, "base"),
            (third_person(base), "s"),
            (past, "past"),
            (part, "part"),
            (_make_gerund(base), "ing"),
        )
        for word, form in shapes:
            learn(word, base, form)
    for word, base in (
        ("learnt", "learn"),
        ("dreamt", "dream"),
        ("burnt", "burn"),
        ("got", "get"),
        ("cancelled", "cancel"),
        ("travelled", "travel"),
    ):
        learn(word, base, "past")
        learn(word, base, "part")
    learn("travelling", "travel", "ing")
    return {word: _pick_base(word, bases) for word, bases in forms.items()}, parts


def _pick_base(word: str, bases: dict[str, set[VerbForm]]) -> tuple[str, frozenset[VerbForm]]:
    """Pick the base of a form that two verbs share (found, lay)."""
    base = min(bases, key=lambda one: (one in ("found", "lay", "bear"), one != word and len(bases[one]) == 0))
    return base, frozenset(bases[base])


FORMS, _PARTS = _build_tables()


def find_lemma(word: str) -> tuple[str, frozenset[VerbForm]] | None:
    """Return the verb and the forms that ``word`` can be.
    Regular endings of unlisted verbs are guessed; None: no verb."""
    known = FORMS.get(word)
    if known:
        return known
    if len(word) > 4 and word.endswith("ing"):
        return _guess_base(word[:-3]), frozenset(("ing",))
    if len(word) > 3 and word.endswith("ied"):
        return f"{word[:-3]}y", frozenset(("past", "part"))
    if len(word) > 3 and word.endswith("ed"):
        return _guess_base(word[:-2]), frozenset(("past", "part"))
    return None


def _guess_base(word: str) -> str:
    if word in _PARTS:
        return word
    if f"{word}e" in _PARTS:
        return f"{word}e"
    if len(word) > 2 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return f"{word}e" if word.endswith(("at", "iz", "is", "us", "v", "c", "rg", "dg", "s", "u")) else word


def past_tense(verb: str) -> str:
    return _PARTS[verb][0] if verb in _PARTS else _make_past(verb)


def participle(verb: str) -> str:
    return _PARTS[verb][1] if verb in _PARTS else _make_past(verb)


def gerund(verb: str) -> str:
    return _PARTS[verb][2] if verb in _PARTS else _make_gerund(verb)


ADVERBS = word_set("""
    also just really recently finally actually still now always never usually often sometimes rarely already even definitely totally only
    currently mostly basically literally absolutely honestly so kinda kind sort especially lately both all myself personally once ever then
    later soon again eventually initially originally truly completely officially quickly pretty quite very super too rather almost nearly
    certainly clearly obviously simply fully newly happily sadly luckily unfortunately fortunately accidentally normally generally typically
    regularly frequently occasionally seriously deeply highly extremely incredibly constantly continually presently today right here back
    """)
FREQUENCY = word_set(
    "always never usually often sometimes rarely regularly frequently occasionally normally generally typically mostly still"
)
HEDGES = word_set("maybe perhaps probably possibly supposedly apparently hopefully ideally theoretically hypothetically")
BE = {"am": "present", "'m": "present", "is": "present", "are": "present", "'re": "present", "was": "past", "were": "past"}
MODALS = word_set("would could should might may must 'd shall ought")
PREPOSITIONS = word_set("""
    in at on to from with for of about by near into onto through over under after before around off out up down as since during without
    within toward towards along across against between among outside inside behind beyond like
    """)
DETERMINERS = word_set("a an the my our his her their its this that these those some any no every each another")
EMPTY = word_set("""
    it that this them these those you him her us me one ones everything something anything nothing stuff things thing everyone someone
    anyone everybody somebody anybody yourself myself there here so too lot bit what how why such
    """)
