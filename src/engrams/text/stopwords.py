"""Word lists of function words, which carry no content."""

from __future__ import annotations

_ENGLISH = """
a an the this that these those some any each every either neither both all such same own other another
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
it its itself they them their theirs themselves one ones someone somebody something anyone anybody anything everyone
everybody everything
who whom whose which what when where why how whoever whatever whichever whenever wherever
am is are was were be been being do does did done doing have has had having will would shall should can could might
must ought
and or but nor if then else because as until while of at by for with about against between into through during before after
above below to from up down in out on off over under again further once here there than too very so just only also not no
yes oh ok okay well really quite even still yet though although however whether since upon within without toward towards
among across along around per via etc
im ive youre youve youll youd hes shes weve theyre theyve theyll thats whats wheres whos hows theres heres lets
dont doesnt didnt isnt arent wasnt werent havent hasnt hadnt wont wouldnt shouldnt couldnt cant cannot aint gonna wanna gotta
re ve ll
"""

# These three omit words that are English once folded (die, war, hat, man, den, als, er, mit; la, hay, son, sin; ai, est, plus,
# sans, par, pour, ton; fur from für): an indexed function word costs little, a dropped word can never be found.
_GERMAN = """
der das dem des ein eine einen einem einer eines und oder aber nicht ich du sie wir ihr mich mir dich dir ihn ihm ihnen uns
euch mein meine meinen meinem meiner dein deine sein seine seinen seiner ihre ihren ihrem ihrer unser unsere ist sind bist
waren habe hast haben hatte hatten wird werden wurde wurden auf von vom zum zur bei nach aus uber unter vor auch noch
nur wie wer wen wem wessen wann warum wieso weshalb welche welcher welches dass weil wenn doch schon sehr kann konnen
"""

_SPANISH = """
el los las un una unos unas y o pero que del al en con por para se lo le les su sus mi mis tu tus nuestro nuestra yo ella
ellos ellas nosotros usted ustedes es era eran fue fueron ser estar esta estan estaba este ese esa esos esas esto eso como
cuando donde quien quienes cual cuales porque muy mas ha han he tambien ya de
"""

_FRENCH = """
le les une du des et ou que qui quoi dont sont etait etaient etre suis es sommes etes avoir avons avez ont avait
je tu il elle nous vous ils elles mon ma mes ta tes ses notre nos votre vos leur leurs ce cet cette ces dans avec
aux au en ne pas tres comme quand comment pourquoi quel quelle quels quelles
"""

STOP = frozenset(f"{_ENGLISH} {_GERMAN} {_SPANISH} {_FRENCH}".split())

# Chinese and Japanese characters that are function words when alone.
HAN_FUNCTION = frozenset(
    "的了是在我你他她它们們这這那哪和与與及或而也都就还還又很不没沒有个個么麼什吗嗎呢吧啊呀把被让讓给給对對从從到"
    "为為之其以于於上下里裡中来來去会會能可要说說一"
)
