"""Words and predicates that tell the kind of an entity. Data."""

from __future__ import annotations

from engrams.read.entities.namelists import to_words

MOVES = to_words(
    """
    live lives lived living move moved moving moves relocate relocated settle settled travel travels traveled travelled traveling travelling
    trip trips fly flew flying flight drive drove born raised grew based vacation vacationed holiday stay stayed staying roots
    wohne wohnt wohnen lebe lebt ziehe gezogen reise reiste urlaub vivo vive viajo habite habitons vis voyage
    """
)

WORKS = to_words(
    """
    work works worked working job intern interned internship employed ceo cto founder cofounder director engineer manager position role
    studies studied studying graduated degree enrolled degree arbeite arbeitet studiere trabajo trabaja travaille
    """
)

PLACE_LINKS = to_words("in to from near around across nach aus en a de")

WORK_LINKS = to_words("at for from of bei fur chez")

PROJECTS = to_words("project projekt proyecto projet codename codenamed repo repository")

CALLED = to_words("named called heisst llama appelle")

GREETINGS = to_words("hey hi hello thanks thank bye goodbye congrats congratulations dear hallo hola salut bonjour danke gracias merci")

READS = to_words("reading read reread rereading watched watch watching playing played")
"""Words before a title in quotes."""

WORKS_OF_ART = to_words("book novel film movie show series song album game rpg piece play script story musical podcast")
"""Words before "called", and a title in quotes."""

WORK_HEADS = to_words("movie movies film films trivia trilogy franchise universe novels")
"""Words after a name that make it a work's: "Harry Potter films"."""

HOMES = to_words("lives_in from born_in grew_up_in moved_from moved_to resides_in")

EMPLOYED = to_words("works_at works_for employed_by volunteers_at graduated_from attends studies_at")

PEOPLE = to_words("is_named married_to dating engaged_to")

NO_OBJECTS = to_words(
    """
    wants_to plans_to trying_to starting_to hopes_to tries_to needs_to likes_to learning_to decided_to going_to used_to has_to chose_to goal
    is is_a is_named trait age has_condition feels seems diet nationality_is religion got_promoted
    """
)
"""Predicates whose object is a verb or a quality."""

LIKED = to_words(
    """
    likes dislikes prefers enjoys enjoyed interested_in passionate_about plays practices practicing studies collects teaches shines_in
    good_at allergic_to did does went_hiking went_camping went_biking went_swimming went_running went_fishing went_dancing went_climbing
    went_skiing went_surfing went_shopping
    """
)
"""Predicates whose object, if it is one word, is what somebody does or likes."""

AFTER_NOUNS = to_words("and or at in on with for together outside outdoors")
"""Words after which "painting" is a noun; before others, as in "running my shop", it is a verb."""

VAGUE = to_words(
    """
    thing things stuff lot lots bit time times day days week weeks month months year years hour hours minute minutes morning evening night
    today tomorrow yesterday weekend weekends way ways kind kinds sort sorts type types part parts side sides place places spot point points
    one ones something someone people person folks everyone guy guys man men woman women kid kids child children
    friend friends family families parent parents mother father mom dad sister brother son sons daughter daughters wife husband partner
    colleague colleagues boss team group groups
    idea ideas question questions answer answers reason reasons chance break look try go goes turn step steps effort shot
    fun blast luck mind hand hands feeling feelings moment moments word words sense doubt clue peek thought thoughts
    pic pics picture pictures photo photos image images
    trouble issue issues problem problems error errors mistake mistakes difference support help love progress sleep plan plans
    news memory memories life lives world experience experiences journey journeys talk talks chat
    good great nice new old big small little long short last first next best better bad worse amazing awesome wonderful fantastic cool
    lovely beautiful special important different same happy sad excited busy hard tough easy ready sure able such few many much more most
    lucky proud glad free full real whole own enough certain various several couple bunch ton tons plenty
    take power playing watching experimenting eating similar regular young project projects impact trip trips work together
    favorite favorites favourite favourites ever always event events home homes house win wins game games energy hang talking chatting
    collection event events stories story food meal dinner lunch breakfast
    coming meeting moving walking sharing meeting listening jamming escaping curling
    simple concise clear detailed brief practical basic quick fast slow
    creating making doing getting going having being working taking giving looking trying starting keeping helping finding seeing using
    job jobs dream dreams place places turn turns them-time
    thinking feeling spending learning building realising realizing becoming
    """
)
"""Words, folded, that tell nothing of what a fact is about."""
