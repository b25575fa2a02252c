"""Names and words that tell people, places and organisations apart. Data."""

from __future__ import annotations


def to_words(text: str) -> frozenset[str]:
    """Split a text at blanks into a set of words."""
    return frozenset(text.split())


def _lines(text: str) -> frozenset[str]:
    return frozenset(name.strip() for line in text.strip().splitlines() for name in line.split(","))


FIRST_NAMES = to_words(
    """
    aaron abigail adam adrian agnes aisha alan albert alejandro alex alexander alexandra alexis alfred alice alicia alison allison amanda
    amelia amir amy ana anastasia andre andrea andreas andrew andy angela angelina anita anja ann anna anne annie anthony antoine antonio
    anya ariana arthur ashley aurora ava barbara bastian beatrice ben benjamin bernard beth bianca birgit bob boris brandon brenda brian
    bridget bruno caitlin calvin camila camille carl carla carlos carmen carol carolina caroline carolyn catherine cecilia cedric celine
    charles charlie chen chloe chris christian christina christine christopher claire clara claudia colin connor craig cristina cynthia
    damian dan daniel daniela danielle danny dave david deborah debra dennis derek diana diane diego dieter dmitri dominic donald donna
    dorothy doug douglas dylan eddie edgar edith eduardo edward eileen elaine eleanor elena eli elias elijah elisa elisabeth elise
    elizabeth ella ellen ellie elsa emil emilia emily emma enrique eric erica erik erika ernest esther ethan eugene eva evan evelyn fabian
    fatima felicia felix fernando fiona francesca francesco francis francisco frank franz fred frederick frida gabriel gabriela gary gavin
    george gerald gerard giovanni gina giulia gloria gordon greg gregory greta guillermo gustav hannah hans harold harry hassan heather
    heidi heike helen helena helga henri henry hugo ian ibrahim igor ines ingrid irene irina isaac isabel isabella ivan jacob jacqueline
    jake james jamie jane janet janine jason javier jean jeff jeffrey jenna jennifer jenny jens jeremy jerry jesse jessica jessie jill
    jim jimmy joan joana joanna joe joel johan johanna johannes john johnny jon jonas jonathan jorge jose josef joseph josh joshua juan
    judith judy julia julian juliana julie juliet julio jurgen justin kai karen karin karl karla kate katherine kathleen kathy katie katja
    katrin kayla keith kelly ken kenneth kevin kim kimberly klaus kristen kristin kurt kyle lara larry lars laura lauren lea leah leila lena
    leo leon leonard leonie leslie lewis liam lidia lily linda lisa liz lorenzo louis louise luca lucas lucia lucy luis luisa lukas luke
    luna lydia madeleine maggie maja malik manuel marc marcel marco marcus margaret maria marie marina mario marion marissa marjorie marlene
    marta martha martin martina marvin mary mateo mathilde matt matteo matthew matthias maurice maya megan mei melanie melissa mia michael
    michelle miguel mike mila milo miriam mohamed mohammed molly monica monika morgan mustafa nadia nancy naomi natalia natalie natasha
    nathan nathaniel neil nicholas nick nicola nicolas nicole niklas nina noah noel nora norbert norman olaf oleg olga oliver olivia omar
    oscar oskar otto owen pablo pamela patricia patrick paul paula pauline pedro peggy peter petra philip philipp phil phoebe pierre priya
    rachel rafael rahul raj ralf ralph ramon raquel raul rebecca regina renate rene ricardo richard rick rita rob robert roberta roberto
    rodrigo roger roland roman ron ronald rosa rosie ross roy ruben rudolf russell ruth ryan sabine sabrina sally sam samantha samuel sandra
    sara sarah scott sean sebastian sergio seth shane shannon sharon sheila shirley silke silvia simon sofia sonia sonja sophia sophie
    stefan
    stefanie stella stephanie stephen steve steven stuart susan susanne suzanne svetlana sven sylvia tamara tanja tanya tara ted teresa
    terry theo theresa thomas tiffany tim timothy tina tobias todd tom tomas tommy tony tracy travis ulrich ursula valentina valerie vanessa
    vera veronica vicky victor victoria viktor vincent vivian vladimir walter wendy werner wilhelm william wolfgang xavier yasmin yuki yusuf
    yvonne zachary zoe
    """
)
"""Given names, folded, that are no ordinary words in English."""

ALSO_WORDS = to_words(
    """
    jan will may mark grace hope rose june april august bill art faith joy sky dean drew chase chance grant jack jay lance max pat rich skip
    sue ray dawn ivy ruby amber iris daisy violet penny page reed rusty summer autumn melody harmony destiny angel prince hunter frank rob
    robin miles guy gene dale glen lily olive basil cliff dusty ginger heather holly jade jasmine marina misty pearl sage sandy sunny april
    """
)
"""Given names that are ordinary words too: they need a cue."""

NICKNAMES = {
    short: frozenset(full.split())
    for short, full in (
        line.strip().split(": ")
        for line in """
        al: albert alan alfred alexander
        alex: alexander alexandra alexandria alejandro alexis
        andy: andrew andreas
        beth: elizabeth bethany
        ben: benjamin benedict
        bill: william
        bob: robert
        cathy: catherine
        charlie: charles charlotte
        chris: christopher christine christian christina
        dan: daniel
        danny: daniel
        dave: david
        deb: deborah debra
        ed: edward edgar
        ellie: eleanor ellen
        fred: frederick alfred
        greg: gregory
        jen: jennifer
        jenny: jennifer
        jim: james
        joe: joseph
        jon: jonathan
        josh: joshua
        kate: katherine catherine
        katie: katherine catherine
        ken: kenneth
        leni: lena helena magdalena
        liz: elizabeth elisabeth
        maggie: margaret
        matt: matthew
        mel: melanie melissa
        mike: michael
        nate: nathan nathaniel
        nick: nicholas nicolas
        pam: pamela
        pat: patrick patricia
        phil: philip philipp
        rick: richard
        rob: robert
        ron: ronald
        sam: samuel samantha
        seb: sebastian
        steph: stephanie
        steve: steven stephen
        sue: susan
        ted: theodore edward
        theo: theodore
        tim: timothy
        tom: thomas
        tony: anthony antonio
        vicky: victoria
        """.strip().splitlines()
    )
}
"""Short given names, with the ones that they may stand for."""

PLACES = _lines(
    """
    afghanistan, albania, algeria, angola, argentina, armenia, australia, austria, azerbaijan, bahrain, bangladesh, barbados, belarus
    belgium, belize, bolivia, bosnia, botswana, brazil, bulgaria, cambodia, cameroon, canada, chile, china, colombia, costa rica, croatia
    cuba, cyprus, czechia, denmark, dominican republic, ecuador, egypt, el salvador, england, estonia, ethiopia, fiji, finland, france
    germany, ghana, greece, greenland, guatemala, haiti, honduras, hungary, iceland, india, indonesia, iran, iraq, ireland, israel, italy
    jamaica, japan, kazakhstan, kenya, kuwait, laos, latvia, lebanon, libya, lithuania, luxembourg, madagascar, malaysia, maldives, malta
    mexico, moldova, monaco, mongolia, montenegro, morocco, mozambique, myanmar, namibia, nepal, netherlands, new zealand, nicaragua
    nigeria
    north korea, northern ireland, norway, oman, pakistan, palestine, panama, paraguay, peru, philippines, poland, portugal, puerto rico
    qatar, romania, russia, rwanda, saudi arabia, scotland, senegal, serbia, singapore, slovakia, slovenia, somalia, south africa
    south korea, spain, sri lanka, sudan, sweden, switzerland, syria, taiwan, tanzania, thailand, tunisia, uganda, ukraine
    united arab emirates, united kingdom, united states, uruguay, uzbekistan, venezuela, vietnam, wales, yemen, zambia, zimbabwe
    usa, uk, uae, africa, asia, europe, antarctica, north america, south america, central america, latin america, scandinavia, middle east
    alps, himalayas, andes, pyrenees, dolomites, rocky mountains, caribbean, mediterranean, balkans, black forest, mount everest
    alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware, florida, hawaii, idaho, illinois, indiana, iowa
    kansas, kentucky, louisiana, maine, maryland, massachusetts, michigan, minnesota, mississippi, missouri, montana, nebraska, nevada
    new hampshire, new jersey, new mexico, new york, new york city, nyc, north carolina, north dakota, ohio, oklahoma, oregon
    pennsylvania, rhode island, south carolina, south dakota, tennessee, texas, utah, vermont, west virginia, wisconsin, wyoming
    ontario, quebec, british columbia, alberta, manitoba, nova scotia, queensland, tasmania, bavaria, bayern, catalonia, tuscany, normandy
    brittany, provence, andalusia, sicily, sardinia, crete, bali, java, kerala, punjab, hokkaido, okinawa, siberia
    amsterdam, antwerp, athens, auckland, baghdad, baltimore, bangalore, bangkok, barcelona, basel, beijing, beirut, belfast, belgrade
    bergen, berlin, bern, birmingham, bogota, bologna, bordeaux, boston, bratislava, bremen, brighton, brisbane, bristol, brooklyn
    brussels, bucharest, budapest, buenos aires, cairo, calgary, cambridge, cape town, caracas, cardiff, casablanca, chennai, chicago
    cincinnati, cleveland, cologne, copenhagen, dakar, damascus, delhi, denver, detroit, dhaka, dortmund, dresden, dubai, dublin, dusseldorf
    edinburgh, essen, frankfurt, gdansk, geneva, genoa, ghent, glasgow, gothenburg, granada, graz, guadalajara, hamburg, hamilton, hanoi
    hanover, hannover, havana, heidelberg, helsinki, hong kong, honolulu, houston, hyderabad, istanbul, jakarta, jerusalem, johannesburg
    karachi, kathmandu, kiel, koln, kolkata, krakow, kuala lumpur, kyiv, kyoto, lagos, las vegas, leeds, leipzig, lima, lisbon, lisboa
    liverpool, ljubljana, london, los angeles, lucerne, lyon, madrid, mainz, malaga, malmo, manchester, manhattan, manila, mannheim
    marrakesh, marseille, melbourne, memphis, mexico city, miami, milan, milwaukee, minneapolis, montevideo, montreal, moscow, mumbai
    munich, munchen, nagoya, nairobi, naples, nashville, new delhi, new orleans, nice, nuremberg, oakland, oaxaca, osaka, oslo, ottawa
    oxford, palermo, paris, perth, philadelphia, phoenix, pisa, pittsburgh, porto, portland, potsdam, prague, pune, queens, quito, reykjavik
    riga, rio de janeiro, riyadh, rome, rotterdam, sacramento, salt lake city, salzburg, san antonio, san diego, san francisco, san jose
    santiago, sao paulo, sarajevo, seattle, seoul, seville, shanghai, shenzhen, sheffield, sofia, st louis, stockholm, strasbourg, stuttgart
    sydney, taipei, tallinn, tampa, tbilisi, tehran, tel aviv, tokyo, toronto, toulouse, trieste, tucson, tunis, turin, utrecht, valencia
    vancouver, venice, verona, vienna, vilnius, warsaw, washington, wellington, winnipeg, wroclaw, yokohama, zagreb, zurich
    """
)
"""Countries, regions and large cities, folded."""

UNSURE_PLACES = to_words(
    "nice phoenix hamilton sofia valencia queens cambridge oxford victoria florence georgia charlotte java perth reading"
)
"""Places that are other things as often: they need a cue."""

SAME_NAME = {
    "usa": "united states",
    "nyc": "new york city",
    "uk": "united kingdom",
    "munchen": "munich",
    "koln": "cologne",
    "lisboa": "lisbon",
}
"""Names of one place, by one that is short or its own."""

ORGANISATIONS = to_words(
    """
    google microsoft netflix spotify siemens bosch volkswagen bmw toyota samsung sony ikea lufthansa nasa unicef unesco facebook youtube
    github openai nvidia intel ibm oracle cisco adobe airbnb uber starbucks mcdonalds walmart deloitte accenture ups fedex fbi
    """
)
"""Organisations, folded, whose names are no ordinary words."""

ORGANISATION_HEADS = to_words(
    """
    inc ltd llc gmbh corp corporation company university college school academy institute hospital clinic foundation agency association
    society bank airlines airways church council ministry museum studios universitat hochschule schule krankenhaus klinik
    universite universidad hospital
    """
)
"""Last words of a name, folded, that make it an organisation's."""

ORGANISATION_NOUNS = to_words("university college school academy hospital clinic foundation bank airlines church krankenhaus")
"""Words in lower case that do so after a name: "Santa Maria hospital"."""

PLACE_HEADS = to_words(
    """
    street avenue road park beach lake river mountain mountains island islands bay canyon valley bridge falls square forest desert coast
    city county springs strasse
    """
)
"""Last words of a name, folded, that make it a place's."""

PLACE_BEGINS = to_words("mount lake port saint fort")

TITLES = to_words("mr mrs ms miss dr doctor prof professor aunt auntie uncle grandma grandpa frau herr madame monsieur senor senora sir")

RELATIONS = to_words(
    """
    mother mom mum father dad sister brother son daughter wife husband spouse partner fiance fiancee girlfriend boyfriend grandmother
    grandma grandfather grandpa grandson granddaughter aunt uncle cousin niece nephew stepmother stepfather friend bestie roommate flatmate
    housemate neighbor neighbour colleague coworker co-worker boss mentor teacher therapist landlord
    schwester bruder mutter vater tochter sohn frau mann freund freundin kollege kollegin chef cousine
    soeur frere ami amie mari femme fille fils hermana hermano amigo amiga novia novio esposa marido hija hijo
    """
)
"""Words, folded, for people whom somebody has: "my sister Emma"."""

ANIMALS = to_words(
    "guinea hound doggy dog cat puppy pup kitten kitty pet rabbit hamster bunny turtle parrot horse pony hund katze kater chien perro gato"
)

NEVER = to_words(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march july september october november december
    montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar marz mai juni juli oktober dezember
    american british english scottish irish welsh french german spanish italian portuguese dutch belgian swiss austrian swedish norwegian
    danish finnish polish czech slovak hungarian romanian bulgarian greek turkish russian ukrainian chinese japanese korean vietnamese thai
    indian pakistani indonesian malaysian filipino australian canadian mexican brazilian argentinian chilean colombian peruvian cuban
    egyptian moroccan nigerian kenyan israeli iranian iraqi syrian lebanese african asian european latino latina
    deutsch englisch franzosisch spanisch italienisch arabic hebrew hindi mandarin cantonese latin
    christmas easter halloween thanksgiving hanukkah ramadan diwali valentine valentines xmas weihnachten ostern
    world everyone everybody folks team guys buddy friend friends sir madam
    mon tue tues wed thu thur thurs fri sat feb apr jun jul aug sep sept oct nov dec
    christian catholic protestant muslim jewish hindu buddhist jesus god lgbt lgbtq lgbtqia tv dvd cd pc ai it ceo cto diy faq ok
    internet web bible quran wifi covid user assistant system human bot
    mom mum mommy dad daddy mama papa grandma grandpa granny nana
    """
)
"""Capitalised words, folded, that name no person, place or organisation."""
