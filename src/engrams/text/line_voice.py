"""Test whether a message's sender still speaks after a line of it, as the line's shape tells.

Enter at ``hands_over`` for a line before a text, ``speaks_of`` for one behind it, and
``introduces`` for words before a colon. Pure; English, German, French, Spanish, Chinese, Japanese.

Nobody but the sender knows where a pasted text begins. But the sender's own lines do show it: they
point ("this", "below"), ask about a thing without a name ("does she like me?"), or are no
sentences ("the note on the fridge"). So a text after such a line is foreign, whatever it says, and
word lists are needed only for the small words of a language. All functions take a folded line.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold
from engrams.text.vocabulary import read_patterns

_table = partial(read_patterns, __file__, "foreign")

# Latin look-alikes of Cyrillic and Greek letters, which a forged "Summarise" is spelled with.
_LOOKALIKES = str.maketrans("авекмнорстухіјѕαεορνικτυ", "abekmhopctyxijsaeopviktu")
_MIXED = late_pattern(r"[a-z][^\W\d_a-z]|[^\W\d_a-z][a-z]")
_INVISIBLE = late_pattern(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e01ef]"
)

_THING = _table("things")
_MY = r"(?:my|our|mein\w*|unser\w*|mon|ma|mes|mi|mis)"
_POLITELY = rf"(?:\W|\b{_table('politeness')}\b)*"
_HAN_THING = "(?:文章|邮件|文本|内容|这段|这篇|消息|网页|信件|文档|メール|記事|手紙|テキスト|文)"

# Who speaks.
_FIRST_PERSON = late_pattern(rf"\b{_table('first_person')}\b|[我私]")
_SELF = late_pattern(
    rf"^\W*(?:[\w'’]+,? ){{0,3}}?(?:{_table('own_subjects')}\b|[我私])"
    rf"|^\W*{_MY} (?![\w-]+['’]s\b)"
)
_ORDER = late_pattern(rf"\b{_table('orders')}\b|总是|从现在|不要|いつも|必ず|これから")
_SOCIAL = late_pattern(rf"^\W*{_table('social')}\b")
_CLOSING = late_pattern(rf"^\W{{0,3}}{_table('closings')}\b[^.:!?]{{0,24}}[,.!]?\s*$")
_TELLER = late_pattern(
    r"(?<!\bi )(?<!\bwe )(?<!\bich )(?<!\bje )(?<!\byo )(?<!\bi just )(?<!\bj'ai )"
    rf"\b{_table('tellers')}\b[^:\n]{{0,60}}$"
    r"|(?<![我私])(?:说|写道|表示|来信|发来|告诉我)[^:：\n]{0,12}$"
    r"|から(?:こんな|次の)?(?:メール|手紙|メッセージ|返事)"
)
_OWN_TELLING = late_pattern(
    rf"^\W*{_table('own_subjects')} (?:[\w'’]+ )?{_table('tellers')}\b[^:\n]{{0,60}}$"
)
"""Sentence of whoever writes or says something themselves: "I always write tests first"."""
_SOURCE = late_pattern(rf"\b{_table('sources')}")
"""From whom a text is, or for whom or what."""

# What a line points at.
_FORWARD = late_pattern(rf"\b{_table('forward')}|こう|こんな|以下|如下")
_SHOWS = late_pattern(rf"\b{_table('shows')}")
_RECEIVED = late_pattern(
    r"\b(?:got|received|found|bekam|bekommen|gefunden|recu|trouve|lleg[oa]\w*|recibi\w*|encontre)\b"
    r"[^.!?\n]{0,20}\b(?:this|these|dies\w*|cet?|cette|ces|est[aeo]s?) [\w-]+\W*$"
    r"|\b(?:dies\w*) [\w-]+ (?:bekommen|gefunden)\W*$"
)
"""Words before a colon that name a text as one that came: "I got this leaflet"."""
_OPENS = late_pattern(rf"^(?:{_table('shows')}|you(?:'re| are)\b)")
_REFERENCE = late_pattern(rf"\b{_table('references')}|[这那他她它]|[こそ][のれう]|彼")
_ASKS = late_pattern(rf"^\W*(?:\d{{1,2}}[.)] ?)?{_table('question_words')}\b|[?？]\W*$")
_FOLLOWING = late_pattern(
    r"\b(?:the following|as follows|folgende[sn]?|ce qui suit|lo siguiente)\W*$"
)

# Requests for work on a text.
_TASK = late_pattern(rf"^{_POLITELY}(?<!\w){_table('tasks')}(?!\w)")
_REWORK = late_pattern(rf"^{_POLITELY}\b(?:{_table('tasks')}|{_table('reworks')})\b")
"""Request to change a text, which may stand behind a dash."""
_BARE_WORK = late_pattern(
    rf"^{_POLITELY}{_table('bare_work')}(?:[\W\d_]+(?:{_table('bare_objects')}|{_table('languages')}))*[\W\d_]*$"
)
"""Request for work that names nothing of the world: what stands behind it is what to work on."""
_LIKE_THIS = late_pattern(r"\blike this\W*$")
_HAN_BARE_WORK = late_pattern(
    r"^\W*(?:(?:请|請|帮我|麻烦你?)\W*)*(?:续写|接着写|润色|校对|翻译|总结|概括)(?:一下|下去)?[。！？]?$"
    r"|(?:続きを(?:書|考え)|訳し|要約し|校正し|添削し)[いえ]?て(?:ください)?[。！？]?$"
)
_WHO_SAID = late_pattern(
    rf"^\W*{_table('who_said')}\W*$|谁(?:的|写的?|唱的?|说的?)[^。！？\n]{{0,6}}[？?]$|誰(?:の|が(?:書|言|歌))"
)
_TIE = late_pattern(
    rf"\b{_table('ties')}\b|所以|也|对了|因为|这里|那里|自己|幸好|才|你|ので|も|ちなみに|ここ|そこ|ですが|けど"
)
"""Words that tie a sentence to those beside it, or to the listener: "so", "too", "by the way"."""
_VERB = late_pattern(
    r"\b(?:is|are|was|were|be|has|have|had|came|comes|arrived|will|can|made|makes|says?|said|i|we"
    r"|ist|sind|war|hat|kam|est|sont|etait|son|era|llego)\b"
)
_CAME = late_pattern(rf"\b{_table('came')}")
"""Words that say of a text that somebody gave it, or from where it is: "my kid wrote this"."""
_WORK_OF = late_pattern(
    rf"\b(?:{_THING}|{_table('works')}) (?:from|by|of|von|vom|de|du|del) (?:\w+ )?{_table('kin')}\b"
    rf"|\b{_table('kin')}['’]s (?:\w+ )?(?:{_THING}|{_table('works')})\b"
)
"""Text of somebody else: "Diktat von meiner Tochter", "grandpa's will"."""
_HAN_WORK_OF = late_pattern(
    "(?:儿子|女儿|孩子|妈妈|爸爸|老师|老板|朋友|同事|邻居|室友|妻子|丈夫|老公|老婆)的?"
    "(?:作文|作业|日记|信|邮件|消息|留言|歌|诗|短信)"
    "|(?:息子|娘|子供|母|父|妻|夫|上司|友達|同僚|隣人|先生)の(?:作文|宿題|日記|手紙|メール|詩|歌)"
)
_HAN_DONE = late_pattern(
    "(?:読み|書き|出し|見|送り)ました。?$|我[^。]{0,12}[读看写寄回]了[^。]{0,8}。?$"
)
"""Deed of the sender with a text: "I read grandma's letter"."""
_NAMED_TEXT = late_pattern(
    rf"\b{_table('determiners')}\W+(?:[\w'-]+ ){{0,2}}?(?:{_THING}|{_table('works')})\b"
)
"""Text that a sentence names: "this blurb", "the wrong tense in each sentence"."""
_TEXT_TASK = late_pattern(rf"^{_POLITELY}\b(?:{_table('tasks')}|{_table('text_tasks')})\b")
_LISTENERS = late_pattern(
    r"\b(?:did|have|do|are|were) you\b(?! (?:make|think) of (?:it|this|that|him|her|them)\b)"
    r"|\b(?:could|can|would|will) you (?:share|send|show|recommend|write|give|tell)\b"
)
"""Question about what the listener has or did, or will write."""
_FOR_LATER = late_pattern(
    r"\b(?:later|when i|if i|tomorrow|morning|right (?:chat|place|page|group)|spater|plus tard)\b"
)
_PRESENTS = late_pattern(
    r"\b(?:reads?|says?|goes|states?|heisst es|steht|hangt|dit|dice|on lit|pone)\b|广告|看板"
)
_VOICE_SAYS = late_pattern(
    rf"\b{_table('voices')}\b[^.!?:\n]{{0,40}}?\b(?:says?|said|reads?|to say|heisst es|steht|sagt|on lit que|dit que|dice que)"
    r"\b(?=,? )|(?:广告|海报|牌子|告示|标语)(?:上)?(?:说|写)|看板に"
)
"""Thing that says something, without a colon: "the sticker says I …"."""
_CLAUSE_END = late_pattern("[,;.!?]")
_OPENING_WORDS = 4
"""Words behind "says" of which one speaks or orders, if they are the words of a thing."""
_DIALOGUE = late_pattern(r"(?:^|\s)q[.:] .{3,200}?\sa[.:] ")
"""Questions and answers of others in one line."""
_KIN = late_pattern(rf"\b{_table('kin')}\b")
_KIN_TELLING = late_pattern(
    rf"^\W*{_MY} (?:\w+ )?{_table('kin')} (?:received|got|found|heard|read|put|goes|went)\b"
)
"""Words before a colon of whom the sender tells: "my nan received"."""
_UTTERED = late_pattern(
    r"^(?!.*\b(?:i|ich|je|yo|we|wir|nous)\b|.*\bj')"
    rf"(?:.*\W)?(?:{_table('utterances')})\b[^:\n]{{0,60}}$"
)
"""Words before a colon that tell who utters what comes, or that it is printed: "he mutters"."""
_TRANSLATED = late_pattern(
    rf"(?:^|[,;.] )\W*(?:(?:put|turn|bring|say)(?: (?:it|this))? in(?:to)? {_table('languages')}"
    rf"|(?:into|auf|ins|en|al|in) {_table('languages')}\W+{_table('politeness')}(?: \w+){{0,3}})\W*$"
    r"|語に(?:し|直し|訳し|翻訳し|変え)て\w*$|(?:翻译?|译|改|换|转)[成为]\w{0,2}[文语語]\w*$"
)
"""Words before a colon behind which something to translate stands: "auf Englisch bitte"."""
_KIN_LABEL = late_pattern(rf"^\W*(?:(?:my|the|our|mein\w*|mon|ma|mi) )?{_table('kin')}\W*$")
_INTERJECTION = late_pattern(
    r"^\W*(?:(?:lol|haha+|omg|wow|ugh|hey|hi|ok|okay|so|well|yo|psst|btw|fyi)\b[,!.… ]*)+(?=\w)"
)
_TASK_BEHIND = late_pattern(
    rf"[,;] {_POLITELY}(?:{_table('tasks')}|{_table('reworks')}|{_table('bare_work')})\b"
    r"[^,;.!?]{0,24}$"
)
"""Request for work behind the text's name: "grandpa's will, simplify"."""
_NAMED_ALONE = late_pattern(
    rf"^\W*(?:(?:an?|the|another|one) )?(?:[\w'-]+ )?(?:memos?|notes?|{_THING}) (?:from|by)\b"
    rf"(?=[^.!?]*\b{_table('kin')}\b)(?!.*!$)"
    r"(?!.*\b(?:is|are|was|were|be|has|have|had|came|comes|arrived|will|can|made|makes|i|we)\b)"
)
"""Sentence without a verb that only says whose text comes: "Voice memo from my neighbour."."""
_ALL_WORK = late_pattern(
    rf"^{_POLITELY}(?:from now on,? |always |ab jetzt |desormais |a partir de ahora )?"
    rf"(?:{_table('tasks')}|{_table('reworks')})\b[^.!?\n]{{0,20}}"
    r"\b(?:everything|anything|whatever|all|each (?:message|text|sentence)|every (?:message|text|sentence)"
    r"|alles|was|tout|todo)\b[^.!?\n]{0,20}"
    r"\b(?:i|ich|je|j') ?(?:send|write|type|paste|post|say|schicke|schreibe|sende|envoie|ecris|envio|escribo)\b"
    r"|\b(?:traduce|corrige|resume) todo lo que (?:te )?(?:envi|escrib|mand)\w*"
)
"""Request for work on all that comes."""
_IN_PARTS = late_pattern(
    r"\b(?:in|across|over|auf|en|sur) (two|three|four|five|several|multiple|a few|many|zwei|drei|vier|mehreren"
    r"|deux|trois|plusieurs|dos|tres|varios|varias|\d) (?:messages?|parts?|chunks?|pieces?|nachrichten"
    r"|teilen?|morceaux|parties|partes|mensajes)\b"
)
_PART_COUNTS = {
    **{str(number): number for number in range(1, 10)},
    **dict.fromkeys(("two", "zwei", "deux", "dos"), 2),
    **dict.fromkeys(("three", "drei", "trois", "tres"), 3),
    **dict.fromkeys(("four", "vier"), 4),
    "five": 5,
}
MANY = 1000
"""Messages of a conversation which are all texts to work on."""
_ALL_SENT = late_pattern(
    r"^\W*(?:ok(?:ay)?\W+)?(?:i'?m )?(?:done|that'?s (?:all|it)|that was (?:all|it|everything)|the end|end of \w+"
    r"|fertig|das war'?s|fini|c'est tout|listo|eso es todo|stop \w+ing)\W*$"
)
_HAN_ASK = late_pattern(
    r"(?:总结|概括|翻译|校对|润色|改写|缩写|解释|分析)(?:一下|成)?"
    r"|(?:要約|翻訳|校正|添削|説明|分析)して|訳して|まとめて"
    rf"|这(?:封|篇|段|个|条)?{_HAN_THING}?[^。！？\n]{{0,12}}(?:诈骗|垃圾|真的|什么意思|怎么样)"
    rf"|(?:[这此](?:[封篇段个条则份]|一[封篇段个条则份])|以下|下面|下列)的?{_HAN_THING}"
    rf"|(?:この|次の|以下の){_HAN_THING}"
)
_ANNOUNCED = late_pattern(
    rf"\b{_table('announced', thing=_THING)}|下一(?:条|个)(?:消息|信息)|次のメッセージ"
)
_SENDS_IN_PARTS = late_pattern(
    r"\b(?:going to|gonna|i'?ll|i will|let me) (?:\w+ )?(?:paste|send|dump|post|share|drop|type|copy)\b[^.!?\n]{0,60}"
    r"\bin (?:two|three|four|five|several|multiple|a few|many|\d) (?:messages|parts|chunks|pieces)\b"
)
_SHOWN = late_pattern(rf"^\W*{_table('shown', my=_MY)}[^.!?\n]{{0,50}}\b{_THING}\b")
_ASKED_FOR = late_pattern(_table("asked_for", thing=_THING))

# Words before a colon.
_FOUND = late_pattern(
    r"\bwhat (?:i|we) (?:just |only )?(?:found|read|saw|heard|got|copied|googled|received)\b"
    r"|\bhow (?:it|this|that) (?:sounds|reads|looks)\W*$"
    r"|(?:看到|收到|读到|写着|写的|发来|发了)[^:：\n]{0,8}$|(?:見た|届いた|書いてあ\w*|もらった)[^:：\n]{0,8}$"
    rf"|\b(?:the|this|that|its|his|her|their) (?:[\w-]+ )?{_THING} (?:is|was|reads?|goes|runs)\W*$"
)
"""Words before a colon that name a text which came: "what I found on the web"."""
_OWN_LABEL = late_pattern(rf"^{_table('heads')}$")
_OWN_HEAD = late_pattern(rf"\b{_table('own_heads')}\b[^.!?]{{0,20}}$")
_OWN_THING = late_pattern(rf"\b{_MY} (?:(?![\w-]+'s\b)[\w-]+ ){{0,2}}{_THING}\W*$")
_MINE = late_pattern(
    r"\b(?:mine|ours|(?:from|by) me|von mir|mein[es]?(?=\W*$)|(?:de|par) moi|[aà] moi|m[ií][oa])\W*$"
    r"|^\W*(?:you|as you) asked\b"
)
"""Words before a colon that say that what comes is the sender's: "the README is mine"."""
_OWN_TEXT = late_pattern(
    rf"\b{_MY} (?:(?![\w-]+'s\b)[\w-]+ ){{0,2}}(?:{_THING}|{_table('works')})\b"
)
_TOPIC = late_pattern(rf"^\W*{_table('topics')}\b")
_ABOUT = late_pattern(
    r"^\W*(?:(?:about|regarding|concerning|as for|wegen|zum|zur|au sujet d[eu]|concernant|sobre) "
    r"(?:the|my|our|that|this|den|die|das|dem|der|la|le|les|el|los|las) )[\w-]+\W*$"
)
"""Topic of what its sender says next: "about the contract"."""
_EXAMPLE = late_pattern(
    rf"\b{_table('examples')}\b"
    rf"(?:[^:\n]{{0,40}}\b{_table('example_speakers')}\b[^:\n]{{0,30}}$|[^:\n]{{0,12}}$)"
)
_THING_HEAD = late_pattern(
    rf"^\W*(?!(?:{_MY}|i)\b(?! [\w-]+'s\b))(?:[\w'’.#-]+ ){{0,6}}?{_THING}\b"
    r"(?: [\w'’.#-]+){0,6}$"
)

_BRACKET = late_pattern(r"[()\[\]]")

# What a sentence says of whose words stand beside it; a judge weighs these (``describe_voice``).
_ANY_THING = late_pattern(rf"\b(?:{_THING}|{_table('works')})\b|{_HAN_THING}|{_table('han_works')}")
_ANY_SELF = late_pattern(rf"\b(?:{_table('first_person')}|{_MY}|me|us|mir|mich|moi)\b|[我私]")
_MY_BEGINNING = late_pattern(rf"^\W*{_MY}\b")
_OWN_BEGINNING = late_pattern(
    rf"\b(?:{_table('own_subjects')}|{_MY}|me|{_table('orders')}|please|when|whenever)\b"
    r"|[我私]|总是|请|从现在|いつも|必ず|これから"
)
"""Word with which somebody begins to speak of themselves, or to order."""

# The shape of a line.
_ENDED = late_pattern(r"[.!?…。！？:：,;]\W*$")
_WORDS = late_pattern(r"^(?:[^\w\s+-]{1,6} ?)?[^\W\d_]{2}|[\u3040-\u9fff]")
_OPEN_END = late_pattern(rf"\b{_table('open_ends')}$")
"""End of a line that goes on with the text of the next one: "one of the inputs is"."""
_MARKED = (">", "- ", "* ", "•", " ", "\t")
"""Beginnings of quoted lines, of items of a list, and of indented lines."""
_LAST_SENTENCE = late_pattern(r"[^.!?。！？]*[.!?。！？\s]*$")
_COLON = late_pattern(r"[:：]\s*\S")
_WORDS_OF_SHORT_QUESTION = 2

_VOICE_FEATURES = {
    "names a text": _NAMED_TEXT,
    "names an own text": _OWN_TEXT,
    "text of kin": _WORK_OF,
    "presents": _PRESENTS,
    "task": _TASK,
    "task on a text": _TEXT_TASK,
    "rework": _REWORK,
    "teller": _TELLER,
    "kin": _KIN,
    "listener": _LISTENERS,
    "came": _CAME,
    "head of a thing": _THING_HEAD,
    "later": _FOR_LATER,
    "own head": _OWN_HEAD,
    "opens": _OPENS,
    "forward": _FORWARD,
    "source": _SOURCE,
    "shown": _SHOWN,
    "who said": _WHO_SAID,
    "own label": _OWN_LABEL,
    "topic": _TOPIC,
    "asked in chinese": _HAN_ASK,
    "text of chinese kin": _HAN_WORK_OF,
    "thing": _ANY_THING,
}


def fold_disguised(text: str) -> str:
    """Fold a text without invisible characters and look-alike letters."""
    if text.isascii():
        return text.lower()
    folded = fold(_INVISIBLE.sub("", text))
    return folded.translate(_LOOKALIKES) if _MIXED.search(folded) else folded


def is_first_person(line: str) -> bool:
    """True if somebody speaks of themselves in a line."""
    return bool(_FIRST_PERSON.search(line))


def names_oneself(words: str) -> bool:
    """True if somebody names themselves or what is theirs: "I", "me", "my", "our"."""
    return bool(_ANY_SELF.search(words))


def names_kin(words: str) -> bool:
    """True if words name a relative, or somebody else who is one person's: "mum", "my boss"."""
    return bool(_KIN.search(words))


def may_teach(words: str) -> bool:
    """True if words could become a fact or a rule of their sender."""
    return bool(_FIRST_PERSON.search(words) or _ORDER.search(words))


def describe_voice(sentence: str) -> Iterator[str]:
    """Yield what a sentence tells of its speaker and of a text beside it, as names of features."""
    words = sentence.strip().rstrip(" :：")
    yield from (name for name, pattern in _VOICE_FEATURES.items() if pattern.search(words))
    yield "own" if names_oneself(words) else "not own"


def find_ties(sentence: str) -> Iterator[str]:
    """Yield the words that tie a sentence to those beside it or to the listener: "so", "too"."""
    yield from (match[0] for match in _TIE.finditer(sentence))


def find_own_beginning(sentence: str) -> int:
    """Return where somebody begins to speak of themselves or to order; -1: nowhere."""
    match = _OWN_BEGINNING.search(sentence)
    return match.start() if match else -1


def tells_of_own_writing(sentence: str) -> bool:
    """True if whoever speaks says that they write or said something, and shows nothing of it."""
    return bool(_OWN_TELLING.search(sentence.strip()))


def opens_as_self(sentence: str) -> bool:
    """True if a sentence begins with its speaker: "I work …", not "my aunt works …"."""
    return bool(_SELF.search(sentence)) and not _MY_BEGINNING.search(sentence)


def classify_voice(sentence: str) -> str:
    """Return by what a sentence begins and how it ends: "self", "ask", "self order", or "tells"."""
    words = sentence.strip()
    kinds = [
        name
        for name, pattern in (
            ("self", _SELF),
            ("social", _SOCIAL),
            ("ask", _ASKS),
            ("order", _ORDER),
            ("first person", _FIRST_PERSON),
            ("reference", _REFERENCE),
        )
        if pattern.search(words)
    ]
    if not _VERB.search(words):
        kinds.append("no verb")
    return " ".join(kinds) or "tells"


def is_closing(line: str) -> bool:
    """True for a line that closes a letter: "Kind regards"."""
    return bool(_CLOSING.search(line.strip()))


def asks_of_others(line: str) -> bool:
    """True for a question that is not about the sender."""
    words = line.strip()
    return bool(_ASKS.search(words)) and not names_oneself(words)


def is_own_label(label: str) -> bool:
    """True for a label of the sender's own notes: "city", "to do"."""
    return bool(_OWN_LABEL.search(label))


def is_own_head(head: str) -> bool:
    """True for words that make what comes the sender's own: "remember this rule"."""
    return bool(_OWN_HEAD.search(head))


def keeps_voice(head: str) -> bool:
    """True for words before a colon after which the sender goes on: "my city", "about the rent"."""
    return bool(_OWN_HEAD.search(head) or _OWN_THING.search(head)) or _is_own_head(head)


def hands_over(line: str) -> bool:
    """True if somebody else may speak after a line.

    It points at what follows, asks about a thing that it does not name, breaks off, or is a title.
    """
    sentence = line.strip()
    if line.startswith(_MARKED) or _is_addressed(sentence):
        return False
    return (
        bool(_FORWARD.search(sentence))
        or (bool(_SHOWS.search(sentence)) and not _SELF.search(sentence))
        or _asks_about_text(sentence)
        or _breaks_off(sentence)
        or is_title(line)
    )


def speaks_of(line: str, before: str) -> bool:
    """True if the last line of a message hands over what stands before it: "spam or not spam".

    Not so a name under a closing, a single word, and the rest of a sentence: "my city is".
    """
    if not _COLON.search(line) and asks_for_work(line):
        return True
    if not is_title(line):
        return hands_over(line)
    is_begun = _CLOSING.search(before.strip()) or _OPEN_END.search(before.strip())
    return not is_begun and " " in line.strip()


def is_title(line: str) -> bool:
    """True for a line without an end that is no statement, wish or question of the sender."""
    sentence = line.strip()
    label, colon, _ = sentence.partition(":")
    if line.startswith(_MARKED) or _is_addressed(sentence) or not _WORDS.search(sentence):
        return False
    if (colon and _is_own_head(label)) or _ENDED.search(sentence):
        return False
    if _ORDER.search(sentence) or _ASKS.search(sentence):
        return False
    return not _SELF.search(sentence) or bool(_TELLER.search(sentence))


def asks_for_work(sentence: str) -> bool:
    """True if a sentence asks for work on a text, or announces one."""
    sentence = sentence.strip()
    if (_TASK.search(sentence) and '"' not in sentence) or _HAN_ASK.search(sentence):
        return True
    if _OWN_THING.search(sentence):
        return False
    return bool(_ANNOUNCED.search(sentence)) and "next" not in sentence


def asks_before_dash(sentence: str) -> bool:
    """True if a text stands behind the dash of a sentence: "rewrite this more formally -"."""
    return bool(_REWORK.search(sentence) or _LIKE_THIS.search(sentence))


def asks_alone(sentence: str, *, is_first: bool = True) -> bool:
    """True if what stands behind a sentence is what it is about, also in the same line.

    It asks for work and names nothing of the world, as in "Korrigier bitte die Kommas.", asks whose
    words come, or says whose they are. ``is_first``: the sender has said nothing before.
    """
    sentence = sentence.strip()
    patterns = (_BARE_WORK, _HAN_BARE_WORK, _WHO_SAID, _CAME)
    if any(pattern.search(sentence) for pattern in patterns):
        return True
    if _HAN_WORK_OF.search(sentence) and not _HAN_DONE.search(sentence):
        return True
    if not is_first or _SELF.search(sentence):
        return False
    if _asks_about_named_text(sentence) or _NAMED_ALONE.search(sentence):
        return True
    # "My son's essay is long." is a statement; "my son's essay, how many mistakes?" is none.
    is_open = sentence.endswith(("?", "？", "。")) or not _VERB.search(sentence)
    return bool(is_open and _KIN.search(sentence) and _WORK_OF.search(sentence))


def count_announced(message: str) -> int:
    """Return how many of its sender's next messages a message says to be texts to work on."""
    if _ALL_WORK.search(message):
        return MANY
    match = _IN_PARTS.search(message)
    return _PART_COUNTS.get(match[1], MANY) if match and announces_text(message) else 0


def ends_announced(message: str) -> bool:
    """True for a message that only says that all was sent."""
    return bool(_ALL_SENT.search(message))


def ends_with_following(sentence: str) -> bool:
    """True for "He sent me the following." """
    return bool(_FOLLOWING.search(sentence))


def shows_text(sentence: str) -> bool:
    """True for a sentence that begins to show something: "Here's the persona for my bot."."""
    return bool(_OPENS.search(sentence.strip()))


def announces_text(message: str) -> bool:
    """True if a message says that the next one is a text of somebody else."""
    match = _LAST_SENTENCE.search(message.rstrip(" .!?:。！？："))
    last = match[0].strip() if match else ""
    if (
        _ANNOUNCED.search(message)
        or _SENDS_IN_PARTS.search(message)
        or (not message.endswith("?") and _SHOWN.search(last))
    ):
        return True
    return message.endswith((":", "：")) and asks_for_work(last)


def asks_for_text(answer: str) -> bool:
    """True if an assistant asks for a text to work on: "paste the text you'd like me to check"."""
    return bool(_ASKED_FOR.search(answer))


def introduces(head: str, words: str, *, is_shown: bool) -> str:
    """Return why the words before a colon introduce a foreign text; empty: they do not.

    ``words``: those behind it. ``is_shown``: a text comes, as a sentence before or a line break
    after the colon tells.
    """
    sentence = _INTERJECTION.sub("", _BRACKET.sub("", head)).strip()
    if asks_for_work(sentence) or _TASK_BEHIND.search(sentence) or _TRANSLATED.search(sentence):
        return "a text to work on"
    if _MINE.search(sentence):
        return ""
    if _EXAMPLE.search(sentence):
        return "an example"
    if any(pattern.search(sentence) for pattern in (_TELLER, _RECEIVED, _FOUND, _CAME)):
        return "words of somebody else"
    is_own = _OWN_HEAD.search(sentence) or _OWN_THING.search(sentence)
    if " " in sentence and _THING_HEAD.search(sentence) and not (is_own or _ABOUT.search(sentence)):
        return "a text of somebody else"
    changes_voice = _FIRST_PERSON.search(words) or _ORDER.search(words)
    if changes_voice and any(
        pattern.search(sentence) for pattern in (_KIN_LABEL, _KIN_TELLING, _UTTERED)
    ):
        return "words of somebody else"
    if is_own or _is_own_head(sentence):
        return ""
    names_source = (
        is_shown
        or _REFERENCE.search(sentence)
        or _FORWARD.search(sentence)
        or _SOURCE.search(sentence)
        or _ASKS.search(sentence)
    )
    return "a text of somebody else" if names_source and changes_voice else ""


def find_voice(line: str) -> int:
    """Return where a line goes over to what a thing says, or others to each other; -1: nowhere."""
    match = _VOICE_SAYS.search(line)
    # "The label says it contains nuts, and I'm allergic." tells nobody's words.
    if match:
        first_clause = _CLAUSE_END.split(line[match.end() :].lstrip(" ,"), maxsplit=1)[0]
        if may_teach(" ".join(first_clause.split()[:_OPENING_WORDS])):
            return match.start()
    match = _DIALOGUE.search(line)
    return match.start() if match else -1


def _asks_about_named_text(sentence: str) -> bool:
    """True for a question, a task or a showing about a text that it names and that is not one's own."""
    is_question = _ASKS.search(sentence) and sentence.endswith(("?", "？", ":"))
    is_about = is_question or _TEXT_TASK.search(sentence) or _PRESENTS.search(sentence)
    if not is_about or _LISTENERS.search(sentence) or _FOR_LATER.search(sentence):
        return False
    return bool(_NAMED_TEXT.search(sentence) and not _OWN_TEXT.search(sentence))


def _is_own_head(head: str) -> bool:
    """True for words before a colon after which the sender goes on: "my rules", "about the rent"."""
    if _SELF.search(head):
        return not _FORWARD.search(head) and not _KIN_TELLING.search(head)
    return bool(
        _OWN_LABEL.search(head.strip("*_# ")) or _TOPIC.search(head) or _SOCIAL.search(head)
    )


def _is_addressed(sentence: str) -> bool:
    """True for a greeting, a closing, and a request to remember what comes."""
    return bool(
        _SOCIAL.search(sentence)
        or _CLOSING.search(sentence)
        or (sentence.endswith(":") and _OWN_HEAD.search(sentence[:-1]))
    )


def _asks_about_text(sentence: str) -> bool:
    """True for a question that names nothing it could be about: "does she like me?", "hooked?"."""
    if not _ASKS.search(sentence) or sentence.endswith((":", "：")):
        return False
    match = _LAST_SENTENCE.search(sentence)
    last = match[0] if match else sentence
    is_short = len(last.split()) <= _WORDS_OF_SHORT_QUESTION and not _SELF.search(last)
    return is_short or bool(_REFERENCE.search(last))


def _breaks_off(sentence: str) -> bool:
    """True for a line that breaks off before somebody else's text: "one of the inputs is"."""
    last = sentence.rsplit(". ", 1)[-1]
    return " " in sentence and bool(_OPEN_END.search(sentence)) and not is_first_person(last)
