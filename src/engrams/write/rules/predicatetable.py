"""Predicates of English verbs and prepositions. Data."""

from __future__ import annotations

from engrams.frozendata import dataclass
from engrams.write.candidatestatement import Effect
from engrams.write.wordlist import word_set


@dataclass(frozen=True, slots=True)
class VerbSense:
    """Predicate that a verb phrase stands for; ``confidence`` is 0..1."""

    predicate: str
    category: str
    effect: Effect = "states"
    confidence: float = 0.85
    polarity: bool = True


def _parse_table(text: str, confidence: float = 0.9) -> dict[tuple[str, str], VerbSense]:
    table: dict[tuple[str, str], VerbSense] = {}
    for line in text.strip().splitlines():
        verb, preps, predicate, category, *effect = line.split()
        for prep in preps.split("|"):
            sense = VerbSense(predicate, category, effect[0] if effect else "states", confidence)  # type: ignore[arg-type]  # the table's own words
            table[verb, "" if prep == "-" else prep] = sense
    return table


# verb, prepositions ("-": none), predicate, category, effect. "Place": the object must name a place or organisation.
PROPER = _parse_table(
    """
    live in|at|near lives_in home
    reside in|at lives_in home
    settle in lives_in home changes
    stay in lives_in home
    move to lives_in home changes
    relocate to lives_in home changes
    work at|for works_at work
    start at|with works_at work changes
    resign from works_at work ends
    retire from works_at work ends
    teach at works_at work
    study at|in studies_at education
    enroll at|in studies_at education changes
    graduate from graduated_from education
    attend - attends education
    come from from identity
    grow up|in grew_up_in identity
    go to went_to event
    travel to went_to event
    fly to went_to event
    drive to went_to event
    visit - visited event
    speak - speaks language
    leave - left event
    quit - works_at work ends
    """
)

VERBS = _parse_table(
    """
    live with lives_with family
    work as job work
    work in works_in work
    work on works_on work
    work with works_with work
    study - studies education
    major in studies education
    marry - married_to family changes
    date - dating family
    divorce - married_to family ends
    have - has possession
    own - has possession
    want - wants preference
    need - needs need
    learn - learning activity
    play - plays activity
    teach - teaches work
    drive - drives possession
    collect - collects activity
    volunteer at|for|with|in volunteers_at activity
    use - uses technical
    call - calls knowledge
    belong to belongs_to knowledge
    specialize in specializes_in work
    participate in took_part_in event
    take part|in took_part_in event
    sign up signed_up_for event
    apply for|to applied_to event
    win - won event
    buy - bought possession
    purchase - bought possession
    adopt - adopted family
    sell - sold possession
    lose - lost event
    break - broke event
    join - joined event
    attend - attended event
    meet - met event
    visit - visited event
    go to went_to event
    travel to went_to event
    decide on|to|against decided decision
    choose - chose decision
    opt for chose decision
    avoid - avoids preference
    suffer from has_condition health
    speak - speaks language
    support - supports preference
    look for|into looking_for activity
    search for looking_for activity
    talk about|to|with talked_to event
    speak about|at|on talked_about event
    chat with|about talked_to event
    focus on focuses_on activity
    struggle with struggled_with health
    help - helped event
    put together organizes event
    try out tries_out activity
    make - made event
    see - saw event
    reach - reached event
    care for cares_for activity
    hang out hangs_out activity
    """,
    0.8,
)

OPINIONS = {
    "love": True, "like": True, "enjoy": True, "adore": True, "cherish": True, "hate": False, "dislike": False, "loathe": False,
    "detest": False,
}  # fmt: skip
PREFERS = frozenset(("prefer", "favor"))
INTENDS = {
    "plan": "plans_to",
    "intend": "plans_to",
    "aim": "plans_to",
    "hope": "wants_to",
    "want": "wants_to",
    "wish": "wants_to",
    "dream": "wants_to",
    "decide": "decided_to",
    "choose": "decided_to",
    "try": "trying_to",
    "promise": "plans_to",
    "need": "needs_to",
    "consider": "considers",
    "agree": "agreed_to",
    "think": "plans_to",
}
BEGINS = frozenset(("start", "begin", "resume"))
STOPS = frozenset(("stop", "quit"))

# Verbs of talk, thought and feeling: what follows them is no fact about the speaker's life.
CHATTER = word_set("""
    think guess mean know see hear understand agree appreciate feel believe bet suppose wonder thank say tell ask mention remember forget
    notice realize try let seem look sound wish promise admit swear assume figure expect imagine wait hope talk chat chill hang care worry
    keep stay get come bring put give show help happen happen matter need mind miss handle reach check push believe trust continue
    find leave set make do pour cherish relate send share deserve count dare respond answer reply reflect focus follow hold face value treat
    root cheer pray admire respect envy doubt recommend suggest encourage wanna end turn call seek strive tend experience mess picture
    embrace
    describe explain decide inspire motivate request confirm provide receive understand ensure include refer review note
    """)

# Chatter verbs that state a fact as a past event with an object.
TELLING = word_set(
    "get make find give send set share bring show leave end receive do experience help face see check call put provide"
    " review include keep encourage notice recommend"
)

DIETS = word_set("vegan vegetarian pescatarian pescetarian keto kosher halal omnivore flexitarian") | {"gluten-free", "dairy-free"}
CONDITIONS = word_set(
    "diabetic celiac coeliac asthmatic pregnant deaf blind colorblind colourblind dyslexic autistic epileptic anemic bipolar"
    " disabled sober lactose nearsighted"
)
MARITAL = word_set("single married divorced widowed engaged separated")
FAITHS = word_set("christian catholic protestant muslim jewish hindu buddhist atheist agnostic mormon orthodox lutheran")
WORDS_OF_SELF = word_set(
    "transgender trans gay lesbian bisexual queer straight nonbinary non-binary left-handed right-handed bilingual introvert"
    " introverted extrovert extroverted retired unemployed self-employed freelance adopted"
)
NATIONS = word_set("""
    american british english scottish irish welsh french german spanish italian portuguese dutch belgian swiss austrian swedish norwegian
    danish finnish
    polish czech slovak hungarian romanian bulgarian greek turkish russian ukrainian chinese japanese korean vietnamese thai indian
    pakistani
    bangladeshi indonesian malaysian filipino australian canadian mexican brazilian argentinian argentine chilean colombian peruvian cuban
    egyptian moroccan nigerian kenyan ethiopian ghanaian israeli iranian iraqi syrian lebanese saudi turkish african asian european
    latino latina
    """)

JOBS = word_set("""
    teacher nurse doctor chef cook lawyer engineer developer programmer designer artist writer author journalist editor photographer
    musician singer actor
    actress dancer banker accountant analyst consultant manager director founder ceo cto scientist researcher professor lecturer student
    intern
    architect carpenter plumber electrician mechanic driver pilot soldier officer firefighter paramedic therapist counselor counsellor
    psychologist
    dentist veterinarian vet pharmacist surgeon barista waiter waitress bartender baker farmer gardener librarian secretary receptionist
    clerk
    cashier salesperson realtor broker trader investor entrepreneur freelancer coach trainer translator interpreter producer filmmaker
    screenwriter novelist sculptor musician guitarist drummer pianist violinist nanny babysitter
    tutor principal biologist chemist physicist mathematician economist historian linguist administrator technician welder builder
    contractor
    paralegal attorney judge politician activist priest pastor monk nun rabbi imam housewife homemaker retiree tailor stylist hairdresser
    barber model
    """)

RELATIONS = word_set("""
    mother mom mum mama mommy father dad papa daddy parent parents sister brother sibling siblings son daughter child children kid kids
    baby wife husband
    spouse partner fiance fiancee girlfriend boyfriend grandmother grandma nana granny grandfather grandpa grandparents grandson
    granddaughter
    aunt auntie uncle cousin niece nephew stepmother stepfather stepsister stepbrother stepson stepdaughter mother-in-law father-in-law
    sister-in-law brother-in-law in-laws friend friends bestie roommate flatmate housemate neighbor neighbour colleague coworker
    co-worker boss manager
    mentor teacher coach therapist doctor landlord ex ex-wife ex-husband dog cat puppy kitten pet pets parrot rabbit hamster bunny turtle
    turtles fish guinea horse
    crew team family twin twins
    """)

VAGUE = word_set("""
    time blast fun day lot look break chance idea ideas question questions way ways thing things stuff feeling feelings moment moments
    best word words
    point sense kind type sort bit part doubt clue luck mind hand hands step steps pic pics picture pictures photo photos peek something
    anything everything nothing one ones year years week weeks month months minute hour days great good nice awesome amazing wonderful
    fantastic cool
    bunch tons ton plenty much many few couple more most all some any really so tough hard rough busy difference support help love progress
    effort shot try go same thought thoughts trouble issue issues problem problems error errors mistake mistakes bed sleep plan plans
    reason news people person others guys everyone folks
    memories memory
    """)

# Nouns that say nothing by themselves: "a place", "an experience".
HOLLOW = VAGUE | word_set("""
    ability adventure advice ambition ambitions aspect attitude battle boost challenge challenges chat chance chances conversation
    details difference dream dreams effect emotions energy event events experience experiences feature features feedback goal goals
    growth happiness heart hurdles impact inspiration issue journey joy kinds leads life luck milestone option options opportunities
    opportunity others passion path performance place places possibilities potential power praise process progress project projects
    purpose response result results scenery setback setbacks side situation skill skills space spot stories story strength strengths
    struggle struggles style success support surprise talent talents task tasks tips topic topics tour treat trip turnout value version
    world times code copy copies recipe list sample meetings hearts fingers games response responses
    addition surge playing offers lessons cards total
    win items flavor team big better best bigger great good nice top anyway fine lovely new own whole real different special
    exciting huge
    """)

# Things that need no more than "the": there is one of them in a life.
KNOWN_THINGS = word_set("""
    sea ocean beach outdoors mountains rain snow sun summer winter spring fall autumn piano guitar violin drums clarinet countryside city
    woods forest sky moon internet gym theater theatre opera arts doctor dentist vet hospital museum zoo library supermarket airport
    church kids children wife husband family dog cat army navy military police news bus train subway weekend weekends holidays morning
    mornings
    evening evenings night nights
    """)

# Technical acronyms are common nouns: "the API" needs a name.
ACRONYMS = word_set("""
    api apis css html js ui ux url urls sql dom http https json xml csv pdf ip id ids ssl tls dns cdn mvp seo crud orm cli ide cpu gpu ram
    pr qa ci cd db sdk app svg cors csrf get post put delete ok
    """)

# Tools of software: moved to, but lived in by nobody.
TOOLS = word_set("""
    postgres postgresql mysql mariadb sqlite mongodb redis bigquery snowflake slack discord zoom teams notion obsidian evernote jira
    linear asana trello github gitlab bitbucket jenkins kubernetes docker podman terraform aws azure gcp cloudflare linux ubuntu
    debian fedora windows macos android ios python rust typescript javascript kotlin react vue svelte angular django flask fastapi
    vim neovim emacs helix zed vscode firefox chrome brave safari gmail outlook proton protonmail fastmail signal telegram whatsapp
    scrivener figma
    """)
