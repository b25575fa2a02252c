"""Words and predicates of a fact that tell the kind of an entity in it: place, work, project, person."""

from __future__ import annotations

from engrams.read.entities.name_vocabulary import to_words
from engrams.text.vocabulary import read_vocabulary

MOVES = to_words(read_vocabulary(__file__, "moves"))

WORKS = to_words(read_vocabulary(__file__, "works"))

PLACE_LINKS = to_words("in to from near around across nach aus en a de")

WORK_LINKS = to_words("at for from of bei fur chez")

PROJECTS = to_words("project projekt proyecto projet codename codenamed repo repository")

CALLED = to_words("named called heisst llama appelle")

GREETINGS = to_words(
    "hey hi hello thanks thank bye goodbye congrats congratulations dear hallo hola salut bonjour"
    " danke gracias merci"
)

READS = to_words("reading read reread rereading watched watch watching playing played")
"""Words before a title in quotes."""

WORKS_OF_ART = to_words(
    "book novel film movie show series song album game rpg piece play script story musical podcast"
)
"""Words before "called", and a title in quotes."""

WORK_HEADS = to_words("movie movies film films trivia trilogy franchise universe novels")
"""Words after a name that make it a work's: "Harry Potter films"."""

HOMES = to_words("lives_in from born_in grew_up_in moved_from moved_to resides_in")

EMPLOYED = to_words(
    "works_at works_for employed_by volunteers_at graduated_from attends studies_at"
)

PEOPLE = to_words("is_named married_to dating engaged_to")

NO_OBJECTS = to_words("""
    wants_to plans_to trying_to starting_to hopes_to tries_to needs_to likes_to learning_to decided_to going_to used_to has_to chose_to goal
    is is_a is_named trait age has_condition feels seems diet nationality_is religion got_promoted
    """)
"""Predicates whose object is a verb or a quality."""

LIKED = to_words(read_vocabulary(__file__, "liked"))
"""Predicates whose object, if it is one word, is what somebody does or likes."""

AFTER_NOUNS = to_words("and or at in on with for together outside outdoors")
"""Words after which "painting" is a noun; before others, as in "running my shop", it is a verb."""

VAGUE = to_words(read_vocabulary(__file__, "vague"))
"""Words, folded, that tell nothing of what a fact is about."""
