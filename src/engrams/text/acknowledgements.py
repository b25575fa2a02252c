"""Detection of messages that only thank or agree. Pure."""

from __future__ import annotations

from engrams.text.terms import tokens

_LONGEST = 60
"""Characters of the longest text that is looked at."""

_ASSENT = """
    good great fine nice cool awesome amazing perfect excellent wonderful lovely sweet neat super brilliant fantastic
    lot lots bunch million again ok okay okey okie k kk alright right sure yes yeah yep yup ya yea no nope nah true exactly
    indeed absolutely definitely totally certainly agreed same understood gotcha got thanks thank thx ty tysm cheers much
    appreciated appreciate np problem worries sorry apologies pardon oops please go ahead continue proceed carry next done welcome
    noted lgtm sounds makes sense perfectly
    danke bitte ja nein genau klar gut prima gerne verstanden passt weiter erledigt einverstanden vielen
    gracias si vale claro bien entendido perfecto adelante hecho listo acuerdo hazlo sigue
    merci oui non d'accord compris parfait continuez vas bon
    grazie prego obrigado obrigada
    好 的 谢 謝 对 對 行 可 以 了 继 繼 续 續 明 白 收 到 嗯
"""
_FILLING = """
    do it that this them all so very you i we the a for on to me is was that's it's you're let lets let's us now then just and with
    well oh ah hm hmm hey hi hello works see go as too of your my
    das es ist so dann jetzt mal doch mach alles sehr und ich
    eso muy y muchas es de lo
    c'est ca le les la fais tres beaucoup dir dank
    你 您 请 請 是 吧 啊 呀 就 这 這 样 樣
"""
_THANKS = "thanks thank thx ty tysm cheers danke dank gracias merci grazie obrigado obrigada 谢 謝"
_GOING_ON = "go continue proceed carry next again do makes mach weiter sigue hazlo continuez 继 繼"
_ANSWER = "yes yeah yep yup no nope nah ja nein doch si oui non 是 对 對 不"

ASSENT = frozenset(_ASSENT.split())
"""Words of thanks and assent; a text made of nothing else says nothing."""
_WORDS = ASSENT | frozenset(_FILLING.split())
_ANSWERS = frozenset(_ANSWER.split())
_OPEN = _ANSWERS | frozenset(_GOING_ON.split())


def is_acknowledgement(text: str) -> bool:
    """True for thanks and assent up to 60 characters, in six languages.

    "thanks", "ok do it", "yes please", "Understood.", "Great, done."; a question is none."""
    if len(text) > _LONGEST or "?" in text or "？" in text or not text.strip():
        return False
    return all(word in _WORDS or not any(map(str.isalnum, word)) for word in tokens(text))


def is_answer(text: str) -> bool:
    """True for a yes or no, which means something beside its question."""
    return not _ANSWERS.isdisjoint(tokens(text))


def is_thanks(text: str) -> bool:
    """True for thanks that neither answer nor let somebody go on."""
    words = set(tokens(text))
    return is_acknowledgement(text) and not words.isdisjoint(_THANKS.split()) and words.isdisjoint(_OPEN)
