"""Requests about memory itself, such as "don't save this", in words of six languages.

Enter at ``mark_unsaved`` for the messages of a conversation, at ``forbids_storage`` for one text
and at ``is_control`` for any request about memory. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engrams.extract.command_parser import opens_with_forgetting, parse_command
from engrams.extract.dismissals import POLITE, find_statement
from engrams.extract.request_concepts import find_bans
from engrams.text.late_patterns import holds_any, late_pattern
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP
from engrams.text.terms import tokens
from engrams.text.vocabulary import read_rows, read_vocabulary, word_set

_HEAD = _TAIL = 4000
"""Characters at both ends of a text that are read."""

# A request ends here: "don't save this file" speaks of a file.
_END = (
    r"(?=\s*(?:$|[.!?,;:()\n。，、！？：；-]|please\b|thanks\b|anywhere\b|at"
    r" all\b|but\b|because\b|since\b|and\b"
    r"|(?:in|to) (?:your|the) (?:memory|history|notes|logs?)\b"
    r"|bitte\b|weil\b|denn\b|und\b|por favor\b|porque\b|pero\b|y\b|en (?:tu|su)"
    r" memoria\b"
    r"|s'il\b|stp\b|svp\b|parce\b|car\b|mais\b|et\b|dans (?:ta|votre) memoire\b|en memoire\b))"
)
# No line break in the blanks: it is a start itself, and a run of them must not be read from each.
_START = r"(?:^|[.!?:;,(\n-])[^\S\n]*"
_NO_SUBJECT = "".join(
    rf"(?<!\b{word} )"
    for word in ("i", "we", "you", "they", "he", "she", "it", "who", "why", "that")
)
_VERB = r"(?:save|store|remember|record|memori[sz]e|log)"
_THING = (
    r"(?:any of (?:this|that|it)(?: conversation| chat| discussion)?|(?:this|that|it|the following|anything(?: i (?:say|said|tell you|told"
    r" you))?|our (?:chat|conversation))"
    r"|(?:this|that|my(?: last| next)?)(?: next| last)?"
    r" (?:message|chat|conversation|part|bit|one|information|info|secret|words?)"
    r"|what (?:follows|i(?:'m| am)? (?:say|said|tell|told|write|wrote|about to|going"
    r" to|just)[^.!?\n]{0,40}))"
)
_KEPT = r"(?:saved|stored|remembered|recorded|logged)"
_ABOUT = r"that (?:i|we|my|our|he|she|they)\b"

_ENGLISH = (
    rf"(?<![\w']){_NO_SUBJECT}(?:do not|don't|dont|never) (?:ever )?(?:{_VERB}"
    rf" (?:{_THING}{_END}|{_ABOUT})|keep (?:any of )?this{_END}"
    rf"|(?:keep|make) a (?:note|record) of (?:this|that|it)\b|write (?:any of )?(?:this|that|it)"
    rf" down{_END})"
    rf"|{_START}(?:please )?(?:do not|don't|dont) {_VERB}\s*:"
    rf"|{_START}(?:please )?forget (?:that )?i(?:'ve| have)?(?: ever| just)? (?:said|told you|mentioned|asked|wrote)\b"
    rf"|\b(?:please|(?:can|could|would|will) you)(?: please)? not {_VERB}"
    rf" (?:{_THING}{_END}|{_ABOUT})"
    rf"|\bi(?:'d| would) rather you (?:didn't|did not) {_VERB} (?:{_THING}{_END}|{_ABOUT})"
    rf"|\byou (?:should|must)(?: not|n't) {_VERB} {_THING}{_END}"
    rf"|\b(?:this|that|it) (?:should(?: not|n't)|must(?: not|n't)) be {_KEPT}\b"
    rf"|{_START}(?:please )?not (?:to be (?:saved|stored|remembered|recorded|logged)|for the"
    rf" record){_END}"
    rf"|{_START}(?:but )?(?:(?:this is|strictly|just|completely|totally|speaking) )*off the"
    rf" record{_END}"
    r"|\b(?:this|that|it|all of this)(?:'s| is| stays| must stay| has to stay| should stay)?(?:"
    r" \w+)? off the record\b"
    rf"|{_NO_SUBJECT}(?:(?<=you to )|(?<!\bto ))\b(?:keep|leave) (?:all )?(?:this|that|it)(?: \w+)?"
    r" (?:off the record\b"
    r"|between (?:us|you and me|the two of us|ourselves)\b|to yourself\b)"
    r"|\b(?:this|that|it)(?:'s| is| stays| remains| must stay| has to stay| should stay)(?: \w+)?"
    r" between (?:us|you and me|the two of us)\b"
    # "Between us, …" is said of any opinion, too: what may be a wish is one.
    rf"|{_START}(?:(?:just|strictly|only) )?between (?:us|you and me)\s*[:,;-]"
    rf"|\bi (?:do not|don't|dont) want (?:you to {_VERB} {_THING}{_END}|{_THING} (?:to be )?{_KEPT}{_END})"
    rf"|{_START}(?:there's |there is )?no need to {_VERB} {_THING}{_END}"
    rf"|\b(?:nothing|none) (?:of (?:this|that|it)|i (?:say|said|told you|wrote)) (?:should|must|may|is to|needs to) be {_KEPT}\b"
)
_GERMAN_TALK = (
    r"(?:dies\w*|unser\w*|das|die|den)"
    r" (?:nachricht|gesprach|unterhaltung|konversation|diskussion|chat|dialog)"
)
_GERMAN_NOTHING = (
    r"nichts (?:davon|hiervon|von (?:dem|diesem|alledem|allem|unserem)\b[^.!?\n]{0,40}?)"
)
_GERMAN_KEEP = r"(?:ab)?(?:speichern|merken|notieren|aufzeichnen|protokollieren|behalten|festhalten|aufschreiben)"
_GERMAN_KEPT = r"(?:gespeichert|gemerkt|notiert|aufgezeichnet|protokolliert|behalten|festgehalten|aufgeschrieben)"
_GERMAN_NO = r"(?:nicht|auf (?:gar )?keinen fall|keinesfalls|niemals|nie)"
_GERMAN_STRESS = r"(?:bitte|lieber|besser|bloss|ja|aber|also|jetzt|heute|das|dies|es)"
_GERMAN = (
    r"\b(?:speicher[en]?|merke?n?|notier[en]?|protokollier[en]?|behalte?n?|(?P<writes>schreibe?n?))(?:"
    r" (?:sie|dir|du))?(?: bitte)?"
    rf" (?:{_GERMAN_TALK}|das|dies|es|folgendes|das folgende|was ich[^.!?\n]{{0,40}})(?:"
    r" (?:hier|jetzt|bitte|alles|aber))*"
    rf" (?:nicht|nirgends|nirgendwo)(?(writes)(?: auf| nieder| mit)|(?: ab)?){_END}"
    r"|\b(?:speicher[en]?|merke?n?|notier[en]?|protokollier[en]?|behalte?n?)(?: (?:sie|dir|bitte))*"
    r" nichts (?:davon|hiervon|von (?:dem|diesem|alledem|unserem)\b"
    rf"(?: (?:gesprach|chat|allem))?){_END}"
    rf"|{_START}(?:(?:{_GERMAN_TALK}|bitte|das|dies|es|aber|und|ja|jetzt|hier|alles|folgendes)"
    r" )*(?:nicht|nirgends)"
    rf" {_GERMAN_KEEP}{_END}"
    r"|\bbleibt (?:bitte |aber |das )?(?:strikt |nur )?(?:unter|zwischen) uns\b|\b(?:unter|zwischen) uns bleiben\b"
    r"|\b(?:das|dies|es|alles)(?: alles| hier)? bleibt(?: \w+)? (?:unter|zwischen) (?:dir|ihnen)"
    r" und mir\b"
    rf"|{_START}(?:(?:nur|ganz|streng) )?unter uns(?: gesagt)?\s*[:,;-]"
    r"|\bbehalte? (?:das|es|dies) (?:bitte )?fur dich\b"
    rf"|{_START}(?:(?:bitte|aber|und|also) )*{_GERMAN_NOTHING}(?: bitte)? {_GERMAN_KEEP}{_END}"
    r"|\b(?:davon|hiervon) (?:soll|sollte|darf|muss) (?:bitte )?nichts"
    rf" {_GERMAN_KEPT} werden\b"
    r"|\b(?:das|dies|es) (?:soll|sollte|darf|muss) (?:bitte )?(?:nicht|nirgends|nirgendwo)"
    rf" {_GERMAN_KEPT} werden{_END}"
    rf"|\bhalte? (?:das|dies|es) (?:bitte )?(?:nicht|nirgends|nirgendwo) fest{_END}"
    rf"|{_START}(?:(?:bitte|aber|und|also|nein|oh)[\s,]+)*merke?(?: dir|n sie sich)(?: {_GERMAN_STRESS})*"
    rf" {_GERMAN_NO}(?:,? dass\b|{_END})"
    rf"|{_START}(?:(?:bitte|aber|und|also|nein|oh)[\s,]+)*merke?(?: dir|n sie sich)"
    rf" (?:das|die sache) mit [^.!?,\n]{{1,40}} nicht{_END}"
    rf"|{_START}(?:bitte )?(?:speicher[en]?|notier[en]?)(?: sie)?(?: dir)?(?: bitte)? {_GERMAN_NO},?"
    r" dass (?:ich|wir|mein\w*|unser\w*)\b"
)
_SPANISH = (
    r"\bno (?:me )?(?:(?:lo|la|los|las)"
    r" )?(?:guardes?|recuerdes?|memorices?|registres?|anotes?|almacenes?|apuntes?|grabes?|conserves?)"
    r"(?: (?:esto|eso|nada(?: de (?:todo )?(?:esto|eso|lo anterior|lo que[^.!?\n]{0,40}))?|lo siguiente"
    r"|(?:est[ea]|nuestr[ao]) (?:mensaje|conversacion|charla|platica|chat)|lo"
    rf" que[^.!?\n]{{0,40}}))?{_END}"
    rf"|{_START}(?:(?:por favor|pero|y|oye)[\s,]+)*no (?:recuerdes|memorices|anotes|apuntes|registres|te"
    r" acuerdes de) que\b"
    r"|\b(?:queda|quede|quedar|quedara|queda esto)(?: \w+)? entre (?:nosotros|nosotras|tu y yo)\b"
    rf"|{_START}(?:(?:solo|solamente|estrictamente) )?entre (?:nosotros|tu y yo)\s*[:,;-]"
    r"|\bno (?:queden?|dejes?|guardes?|hagas?) (?:ningun )?registros? de (?:todo )?"
    rf"(?:esto|eso|lo anterior|nada|lo que[^.!?\n]{{0,40}}|esta (?:charla|conversacion)){_END}"
)
# What stands before an imperative: with a subject, the same words tell what somebody does.
_FRENCH_ORDER = (
    rf"{_START}(?:(?:s'il (?:te|vous) plait|svp|stp|je (?:t'en|vous en) prie|mais|et|alors|donc|surtout|bon|ok"
    r"|non|oh|ah|puis|attends?|maintenant|aussi|desormais|la|please)[\s,]+)*(?:ne |n')"
)
_FRENCH = (
    rf"{_FRENCH_ORDER}(?:(?:le|la|les) |l'|te"
    r" )?(?:retiens|retenez|memorise[sz]?|garde[sz]?|sauvegarde[sz]?|note[sz]?"
    r"|enregistre[sz]?|conserve[sz]?|stocke[sz]?|souviens) (?:pas|rien|jamais)"
    r"(?: (?:de )?(?:(?:tout )?(?:ca|cela|ceci)|(?:ce|cet|cette|notre)"
    r" (?:message|conversation|discussion|echange|chat)|ce qui suit"
    rf"|ce que[^.!?\n]{{0,40}}))?{_END}"
    rf"|{_FRENCH_ORDER}(?:retiens|retenez|memorise[sz]?|note[sz]?|enregistre[sz]?) (?:pas|jamais)"
    r" qu(?:e |')(?:j'|(?:je|on|nous|mon|ma|mes|notre|nos|ils?|elles?)\b)"
    rf"|{_START}(?:a )?ne pas"
    r" (?:enregistrer|retenir|sauvegarder|memoriser|garder|noter|conserver|stocker)(?:"
    r" (?:ca|cela|ceci|ce message))?"
    rf"{_END}"
    rf"|{_FRENCH_ORDER}(?:ecri[st]|ecrivez|note[sz]?|enregistre[sz]?) (?:ca|cela|ceci) nulle part{_END}"
    r"|\b(?:reste|restera|rester)(?: \w+)? entre nous\b"
    r"|\b(?:ca|cela|ceci) (?:reste|restera|doit rester)(?: \w+)? entre (?:toi|vous) et moi\b"
    rf"|{_START}(?:(?:juste|seulement|strictement) )?entre nous\s*[:,;-]"
    rf"|{_FRENCH_ORDER}(?:gardez?|laissez?) (?:pas de|aucune) traces? (?:de |d')"
    rf"(?:(?:tout )?(?:ca|cela|ceci)|(?:cette|notre) (?:conversation|discussion)){_END}"
    r"|\bgarde[sz]? (?:ca|cela|ceci) pour (?:toi|vous)\b|\bgarde[sz]?-le pour (?:toi|vous)\b"
)
_CHINESE_END = r"(?=\s*(?:$|[，。、,.!?:;()\n-]|吧|了|哦|啊|喔))"
_CHINESE_THIS = (
    r"(?:(?:以上|上面)的?(?:内容|內容|话|話|对话|對話)|(?:刚才|剛才|刚刚|剛剛|上面|以上)?(?:这|這|那)(?:件|些|段|个|個|条|條|次)?"
    r"(?:事情|事|话|話|内容|內容|对话|對話|聊天|谈话|談話|消息|信息)?"
    r"|我?(?:刚才|剛才|刚刚|剛剛|刚|上面|前面)?我?所?(?:说|說|讲|講|聊|提)(?:过|過)?的"
    r"(?:这|這|那)?(?:件|些|段|个|個)?(?:话|話|内容|內容|事情|事)?)"
)
_CHINESE_KEEP = (
    r"(?:留下?(?:记录|記錄)|(?:记住|记录|保存|存储|储存|记下|存下|存档|記住|記錄|儲存|記下|存檔|记|記|存)"
    r"(?:下来|下來|起来|起來)?)"
)
_CHINESE_NOT = r"(?:不要|别|別|请勿|請勿|勿|不用|不必|无需|無需|不(?:希望|想让|愿意?)你)"
_CHINESE = (
    rf"{_CHINESE_THIS}(?:就|也|都|请|請|麻烦|麻煩)*{_CHINESE_NOT}再?{_CHINESE_KEEP}{_CHINESE_END}"
    rf"|{_CHINESE_NOT}(?:把)?{_CHINESE_KEEP}{_CHINESE_THIS}{_CHINESE_END}|{_CHINESE_NOT}把{_CHINESE_THIS}{_CHINESE_KEEP}{_CHINESE_END}|"
    r"(?:不要|别|別|请勿|請勿|勿|不许)(?:把(?:这|這|此|它|我|以下|下面)[^，。,.!?\n]{0,8})?"
    r"(?:记住|记录|保存|存储|储存|记下|存下|存档|記住|記錄|儲存|記下|存檔)(?:下来|下來|来|來)?(?:这|這|此|它|以下|下面|本|我们的|我們的)?(?:些|个|個|件|条|條|段|次)?"
    r"(?:话|話|事|消息|信息|内容|內容|对话|對話|聊天|谈话|談話)?(?=\s*(?:$|[，。、,.!?:;()\n-]|吧|了|哦|啊|喔))"
    r"|(?<![\u4e00-\u9fff])(?:请|請|麻烦|麻煩|求你)?(?:不要|别|別|请勿|請勿)(?:再)?(?:记住|記住|记得|記得|记下|記下|记|記)"
    r"(?=(?:我|咱)(?!的?[账帳头頭名]))"
    r"|(?:我们|我們|咱们|你我|咱俩)(?:之间|之間|俩)的?(?:秘密|知道)|你知我知|只有(?:你我|你和我|我们俩|咱俩)知道"
)
# An object or a place that is no talk makes it an order about a thing: "don't save the file".
_JAPANESE_TALK = (
    "(?:(?:これ|それ|こと|話|会話|内容|情報|番号|住所|名前|メッセージ|発言|言葉|やり取り|やりとり|チャット|部分|秘密|件)(?:だけ)?[をはも]"
    "|(?<![をはにでへ]))[、 ]?(?:(?:絶対に|どこにも|決して|一切|勝手に|メモリに?|履歴に|ログに|記憶に)は?、?)?"
)
_JAPANESE = (
    rf"{_JAPANESE_TALK}(?:保存|記録|記憶|メモ)は?(?:しないで|せずに)"
    r"|覚え(?:てい|ておか|とか)?ないで|(?:記録|メモリ|履歴)には?残さないで"
    r"|オフレコ(?:で(?!聞|言われ)|だ|です|に|ね|:|、)"
    r"|ここだけの話"
    r"|(?:(?:あなた|君|きみ)と(?:私|わたし|僕|俺)|[二2]人)だけの(?:秘密|話)|内緒(?:にして|でお願い|だよ|ね)"
)
# "You need not remember that …", "The thing with … better don't note": wishes that are no imperative.
_TOLD = r"(?:what|anything|everything) i(?:'ve| have)? (?:said|told you|mentioned|shared)"
_GERMAN_TOPIC = r"(?:das|die sache|die geschichte) (?:mit|uber) [^.!?,\n]{1,40}"
_SPANISH_KEEP = r"(?:guarde|recuerde|memorice|registre|anote|almacene|apunte|conserve)s"
_SPANISH_ABOUT = rf"(?:que\b|(?:esto|eso){_END}|lo (?:de|que te (?:dije|conte|he))\b)"
_FRENCH_KEEP = r"(?:souvenir|rappeler|retenir|noter|garder|enregistrer|memoriser|conserver)"
_FRENCH_THAT = (
    r"(?:qu(?:e |')(?:j'|(?:je|on|nous|mon|ma|mes|notre|nos|ils?|elles?)\b)|ce que je (?:t'ai|te|dis|raconte)"
    rf"|(?:de )?(?:ca|cela|ceci)(?: en memoire)?{_END})"
)
_JAPANESE_KEEP = r"(?:覚え|(?:記録|保存|記憶|メモ)し)(?:て(?:おか|おく|い)?)?"
_WISHES = (
    rf"{_START}(?:(?:please|kindly|but|and|really)[\s,]+)*(?:you (?:do not|don't|dont) (?:really )?(?:need|have) to"
    r"|you (?:need not|needn't)|(?:there's |there is )?no need (?:for you )?to"
    r"|i(?:'d| would) (?:much )?(?:prefer|rather|like|appreciate)(?: it)?(?: if)?(?: that)? you(?: do| did|'d| would)?(?: not|n't)(?: to)?"
    rf"|(?:please |kindly )?(?:never|avoid|do not|don't|dont)(?: ever)?) (?:{_VERB}|not[ei]|keep"
    rf"|retain)(?:(?<!\bnot)(?:r?ing))? (?:{_ABOUT}|{_TOLD}\b)"
    rf"|{_START}(?:the (?:thing|part|bit) (?:about|with) [^.!?,\n]{{1,40}}|{_TOLD} (?:about|on) [^.!?,\n]{{1,40}}),?"
    rf" (?:please |better |rather )*"
    rf"(?:(?:do not|don't|dont|not) (?:save|store|remember|memori[sz]e)(?: it| that)?|(?:should|must)(?: not|n't) be {_KEPT}){_END}"
    rf"|{_START}{_GERMAN_TOPIC} (?:merke? dir|(?:speicher[en]?|notier[en]?|behalte?)(?: dir)?)(?: {_GERMAN_STRESS})* nicht(?: ab)?{_END}"
    rf"|{_START}(?:bitte )?{_GERMAN_TOPIC} (?:(?:solltest|sollst|musst|brauchst) du(?: dir)?(?: {_GERMAN_STRESS})*"
    rf" )?nicht (?:zu )?{_GERMAN_KEEP}{_END}"
    rf"|{_START}du (?:brauchst|musst|sollst|solltest)(?: dir)?(?: {_GERMAN_STRESS})* {_GERMAN_NO} (?:zu"
    rf" )?{_GERMAN_KEEP},? dass (?:ich|wir|mein\w*|unser\w*|er|sie)\b"
    rf"|{_START}ich (?:mochte|will|hatte gern)(?: lieber)? nicht,? dass du (?:dir (?:das|es|dies|{_GERMAN_TOPIC}) merkst"
    rf"|(?:dir )?(?:das|es|dies|{_GERMAN_TOPIC}) (?:(?:ab)?speicherst|notierst|aufschreibst)){_END}"
    rf"|{_START}(?:bitte )?(?:speicher[en]?|notier[en]?|behalte?)(?: dir)?(?: bitte)? {_GERMAN_NO}(?: auf)?,? dass"
    rf" (?:ich|wir|mein\w*|unser\w*)\b"
    rf"|{_FRENCH_ORDER}(?:te (?:souviens|rappelle)|note|retiens|garde)(?: surtout)? (?:pas|jamais) {_FRENCH_THAT}"
    rf"|{_START}(?:tu n'as pas besoin|(?:ce n'est )?pas la peine|inutile) de (?:te )?{_FRENCH_KEEP} {_FRENCH_THAT}"
    rf"|{_START}(?:je prefere(?:rais)?|j'aimerais(?: mieux)?) que tu ne (?:te )?(?:souviennes|rappelles|retiennes|notes"
    rf"|gardes|enregistres|memorises|conserves) pas {_FRENCH_THAT}"
    rf"|{_START}(?:(?:yo )?(?:prefiero|preferiria) que no|mejor no|no (?:hace falta|es necesario) que|nunca) (?:te"
    rf" )?(?:{_SPANISH_KEEP}|acuerdes de) {_SPANISH_ABOUT}"
    rf"|{_START}no (?:necesitas|tienes que|hace falta|es necesario) (?:recordar|guardar|anotar|apuntar|memorizar"
    rf"|registrar) {_SPANISH_ABOUT}"
    rf"|(?:^|[。，,!?])(?:关于|關於)?我[^，。,!?\n]{{1,14}}(?:的?事情?|这件事|這件事)你?(?:就|也|都|请|請|还是|還是)*(?:{_CHINESE_NOT}"
    rf"|不需要)再?{_CHINESE_KEEP}(?:了|吧)*{_CHINESE_END}"
    rf"|(?:^|[。，,!?])你?(?:不用|不必|无需|無需|不需要|没必要|沒必要){_CHINESE_KEEP}(?=我(?!的?[账帳头頭名]))"
    rf"|(?:こと|話|件)(?:は|を|も|なら)?{_JAPANESE_KEEP}(?:なくて(?:も)?(?:いい|大丈夫|結構|構わ)|(?:る)?必要は(?:ない|ありません))"
)
_REQUEST = late_pattern(
    "|".join((_ENGLISH, _GERMAN, _SPANISH, _FRENCH, _CHINESE, _JAPANESE, _WISHES))
)

# Every request holds a word of each of a row's groups: most messages hold none, and looking for
# words is cheaper than matching.
_NECESSARY = (
    (("off the record", "between ", "to yourself", " uns", " und mir", "fur dich", "entre ", "pour toi", "pour vous"),),
    (("forget i", "forget that i", "aucune trace", "pas de trace"),),
    (("not", "n't", "dont", "never", "no need", "none", "avoid"),
     ("save", "stor", "remember", "record", "memori", "log", "keep", "note", "write", "retain", "noting")),
    (("nicht", "nirgend", "keine", "nie"), ("speicher", "merk", "notier", "protokollier", "halt", "schrieb", "schreib", "zeichn")),
    (("no ", "nunca"), ("guard", "recuerd", "acuerd", "memoric", "registr", "anot", "almacen", "apunt", "grab", "conserv")),
    (("pas", "rien", "jamais", "inutile"),
     ("reten", "retien", "memoris", "gard", "note", "enregistr", "conserv", "stock", "souv", "rappel")),
    (("nulle part",), ("ecri", "note", "enregistr")),
)  # fmt: skip
_UNSPACED = late_pattern("[\u3040-\u30ff\u3400-\u9fff]")

# "My boss said don't save this": right before the words, with a subject that is not the writer.
_REPORTED = late_pattern(
    r"\b(?:said|says?|saying|told|tells|asked|asks|wants?|wanted|warned|wrote|writes|reads|insisted|reminded|ordered|begged)"
    r"(?: (?:me|us|him|her|them|everyone|you))?(?: (?:to|that|not to))?[\s:,\"'-]*$"
    r"|\b(?:sagte|sagt|gesagt|meinte|meint|bat|schrieb|schreibt)(?: (?:mir|uns))?[\s:,\"-]*$"
    r"|\b(?:dijo|dice|dijeron|pidio|escribio)(?: que)?[\s:,\"-]*$"
    r"|\b(?:a dit|dit|disait|a demande|ecrit)(?: (?:de|que))?[\s:,\"-]*$"
    r"|(?:说|說|讲|告诉|告訴|叫|让|讓|要求)(?:我|我们|我們|他|她|大家)?[\s:,，\"-]*$"
)
_OWN_WORDS = late_pattern(
    r"\b(?:i|we)(?:'ve| have| had)? (?:already |just"
    r" )?(?:said|say|told|tell|asked|ask|want|wanted)\b[^.!?\n]*$"
    r"|\b(?:ich|yo|je|j'ai)\b[^.!?\n]{0,20}$|我(?:已经)?(?:说|說|跟你说|告诉你)[^。！？\n]{0,6}$"
)
_REPORTED_AFTER = late_pattern(
    r"(?:ください|下さい|ね|よ|欲しい|ほしい)*[」』\"]?\s*(?:と|って)(?:言|い[わっう]|書|頼|注意|指示)"
)
_BARE = 100
_UNSPACED_TALK = late_pattern(
    "これ|それ|今の?|この|さっきの?|会話|やりとり|チャット|ここだけの話|に?して(?:おいて)?|言った|話した|こと|話"
    "|ください|下さい|お願い(?:します)?|どうか|ほしい|欲しい|[はもをねよの]|请|請|麻烦|麻煩|谢谢|謝謝|[了吧哦啊]"
)
"""Japanese and Chinese words of a request that say nothing else: no blanks tell them apart."""
_CONVERSATION = late_pattern(
    r"\b(?:conversation|chat|discussion|talk|exchange|gesprach|unterhaltung|konversation|diskussion"
    r"|conversacion|charla|platica|echange)\b|会話|やりとり|チャット|对话|對話|聊天|谈话|談話"
)
_LAST_OF_IT = late_pattern(
    r"\b(?:last|previous|latest|letzte\w*|vorige\w*|ultim[ao]s?|dernier\w*)\b|刚才|剛才|最后|最後|さっき"
)
_LAST_MESSAGE = late_pattern(
    r"(?:(?:that|the|my|this) )?(?:last|previous|latest) (?:message|thing|part|bit|sentence|one)\b"
)
_FOLLOWING = late_pattern(
    r"[:：]\s*\S|\b(?:following|next|about to|going to|will|folgende\w*|nachste\w*|siguiente|proximo|suivant\w*|prochain)\b|下面|以下|下一"
)
_REASONS = word_set(read_vocabulary(__file__, "request_reasons"))
"""Words that give the reason of a request, and say nothing else."""
_OPENER = late_pattern(
    rf"^(?:\W*(?:{'|'.join(read_rows(__file__, 'request_openers'))})(?!\w)[\s,.?!:;…，。、！？—-]*)+"
)
"""Words that only open a request: "oh, on second thought, …"."""
_TALK = word_set(read_vocabulary(__file__, "request_talk"))
"""Words that name the conversation itself."""
_QUOTES = (('"', '"'), ("«", "»"), ("「", "」"), ("『", "』"))
_CONTROL = late_pattern(
    r"\b(?:forget (?:that|this|it|everything|all|what i|about (?:that|this|it|what|my)|my|the"
    r" (?:last|fact|thing|part))"
    r"|(?:(?<!to )|(?<=you to ))(?:delete|erase|remove|clear|wipe|purge) (?:(?:all |everything )?(?:of"
    r" )?(?:my|your|the|that|this) )?"
    r"(?:memor(?:y|ies)|everything you (?:know|remember))"
    r"|what (?:do|did|can) you (?:know|remember|recall|have stored)|what have you"
    r" (?:stored|saved|remembered|learned)"
    r"|(?:show|list|print|tell) me (?:what you (?:know|remember)|(?:all )?(?:my|your|the) (?:stored"
    r" )?memor(?:y|ies))"
    r"|(?:turn|switch) (?:on|off) (?:your |the )?(?:memory|recall)"
    r"|(?:vergiss|losche) (?:das|alles|was)|was weisst du uber mich"
    r"|olvida (?:eso|esto|lo que|todo)|que"
    r" (?:sabes|recuerdas) (?:de|sobre) mi"
    r"|oublie (?:ca|cela|tout|ce que)|que sais-tu (?:de|sur)"
    r" moi)\b"
    r"|(?:忘记|忘掉|忘了)(?:这|那|我|刚才|所有)|你(?:还)?记得(?:我)?(?:什么|哪些)"
)
# Every request about memory holds one of them.
_CONTROLLING = (
    "forget", "memor", "record", "remember", "recall", "store", "save ", "log ", "keep ", "you know", "have you ", "everything you ",
    "vergiss", "losche", "merk dir", "uber mich", "olvida", "guardes", "recuerd", "sabes", "oublie", "retiens", "garde pas", "sais-tu",
    "忘", "记", "保存",
)  # fmt: skip
_NEVER_FORGET = late_pattern(
    r"\b(?:don't|dont|do not|never|can't|won't|didn't|not) forget\b|不要忘|别忘"
)


def is_control(text: str) -> bool:
    """True for a request about memory itself, such as "forget that"."""
    folded = fold(text[:2000])
    if "forget" in folded or "忘" in folded:
        folded = _NEVER_FORGET.sub(" ", folded)
    if holds_any(folded, _CONTROLLING) and _CONTROL.search(folded) is not None:
        return not find_statement(text)
    return opens_with_forgetting(text) or parse_command(text) is not None or forbids_storage(text)


def forbids_storage(text: str) -> bool:
    """True if the text asks that it be not saved.

    Such as "off the record"; quoted or reported requests and ordinary talk about saving do not
    count.
    """
    parts = (text,) if len(text) <= _HEAD + _TAIL else (text[:_HEAD], text[-_TAIL:])
    return any(_is_request(part) for part in parts)


def is_bare_request(text: str) -> bool:
    """True for such a request alone, about what was said before."""
    return len(text) <= _BARE and not _find_other_words(text)


def is_about_before(text: str) -> bool:
    """True for a request not to save, or to forget, what was said just before.

    Such as "don't save my last message", "that was private, don't remember it" and "forget that".
    """
    if len(text) > _BARE:
        return False
    command = parse_command(text)
    if command is not None and command.is_certain and command.verb == "forget_last":
        return True
    if (
        command is not None
        and command.is_certain
        and command.verb == "forget"
        and _LAST_MESSAGE.match(fold(command.about))
    ):
        return True
    if not forbids_storage(text) or _FOLLOWING.search(fold(text)):
        return False
    return _find_other_words(text) <= _REASONS


def is_about_conversation(text: str) -> bool:
    """True for a request not to save the whole conversation: "don't remember this chat"."""
    folded = fold(text)
    if not _CONVERSATION.search(folded) or _LAST_OF_IT.search(folded):
        return False
    return forbids_storage(text) and is_about_before(text)


def _find_other_words(text: str) -> set[str]:
    """Find the words of a text that neither open it, nor ask, nor are polite, nor name the conversation."""
    request = _OPENER.sub("", fold(text))
    remainder = _UNSPACED_TALK.sub(" ", _REQUEST.sub(" ", _cut_out(request, find_bans(request))))
    words = {word for word in tokens(remainder) if word.isalnum()}
    return words - STOP - POLITE - _TALK


def _cut_out(text: str, spans: Iterable[tuple[int, int]]) -> str:
    for start, end in reversed(list(spans)):
        text = f"{text[:start]} {text[end:]}"
    return text


def mark_unsaved(messages: Iterable[tuple[str, str]], *, after: bool = False) -> list[bool]:
    """Mark messages that ask not to be saved, and their answers.

    ``messages``: role and text of each. ``after``: the message before the first one asked so.
    """
    marks = []
    for role, text in messages:
        if role != "assistant":
            after = role in ("user", "") and forbids_storage(text)
        marks.append(after)
    return marks


def _is_request(text: str) -> bool:
    folded = fold(text).strip()
    if folded[:1] == folded[-1:] == '"' and folded.count('"') == 2:
        folded = folded[1:-1]
    return any(not _is_reported(folded, start, end) for start, end in _find_requests(folded))


def _find_requests(folded: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a folded text that ask not to save it."""
    if _may_ask(folded):
        yield from (match.span() for match in _REQUEST.finditer(folded))
    yield from find_bans(folded)


def _may_ask(folded: str) -> bool:
    """False for a text without the words that every request holds."""
    for groups in _NECESSARY:
        if all(holds_any(folded, group) for group in groups):
            return True
    return not folded.isascii() and _UNSPACED.search(folded) is not None


def _is_reported(text: str, start: int, end: int) -> bool:
    """True for words of somebody else: quoted, or after "said"."""
    start += len(text[start:end]) - len(text[start:end].lstrip(" .!?:;,(\n-"))
    before = text[:start]
    for opening, closing in _QUOTES:
        if opening == closing:
            is_open = before.count(opening) % 2 == 1
        else:
            is_open = before.count(opening) > before.count(closing)
        if is_open and closing in text[end:]:
            return True
    if _REPORTED_AFTER.match(text, end):
        return True
    return bool(_REPORTED.search(before[-200:])) and not _OWN_WORDS.search(before[-200:])
