"""Made-up sentences in the manner of chats and of questions about them, for distill.py."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

WHO = [
    *(
        "I",
        "we",
        "my friend",
        "my sister",
        "my brother",
        "my mom",
        "my dad",
        "my husband",
        "my wife",
        "my boss",
        "my daughter",
        "my son",
    ),
    *(
        "the kids",
        "she",
        "he",
        "they",
        "you",
        "our neighbor",
        "my grandmother",
        "a colleague",
        "my team",
        "everyone",
        "the doctor",
    ),
]
WHEN = [
    *(
        "yesterday",
        "last week",
        "last month",
        "last year",
        "today",
        "tomorrow",
        "next weekend",
        "in June",
        "two years ago",
        "this morning",
    ),
    *(
        "recently",
        "on Friday",
        "in 2022",
        "for a while",
        "soon",
        "last summer",
        "on my birthday",
        "after work",
        "every day",
        "a few days ago",
    ),
]
ASIDES = [
    "",
    "",
    "",
    "Wow! ",
    "Hey {X}! ",
    "Thanks! ",
    "Yeah, ",
    "Oh no, ",
    "That's great! ",
    "Sounds good. ",
    "I agree. ",
    "By the way, ",
]
SAID = [
    "{W} went to the {N} with {w} {T}.", "I love my {A} {N}, it helps me {V}.", "{W} bought a {A} {N} {T}, it was so {A2}!",
    "I've been working on {N} {T}, and it's been {A}.", "That {N} looks {A}! Where did you get it?",
    "{W} started a {N} {T} and plans to {V} it.",
    "My favorite {N} is {A} because I can {V} there.", "{W} is going to {V} {T}, I hope it goes well.", "I'm so {A} about the {N}!",
    "Please always use {N} when you {V} the {M}.", "I don't like {N}, I prefer {M}.", "The {N} of the {M} is {A}.",
    "It's important to {V} your {N}, {w} told me {T}.", "I moved from {N} to {X} {T} for my {M}.", "{X} and I met at the {N} {T}.",
    "{X}'s {N} is {A} and {A2}.", "I heard the {N} was {A}.", "{N} can be {A}, but {w} can {V} it.", "We had {N} and {M} for dinner {T}.",
    "I'm a {N} and I work in {M}.", "My {N} is called {X}.", "{W} made me a {N} out of {M}.", "I signed up for a {N} class {T}.",
    "I'm learning to {V}, it's {A} but {A2}.", "Here's a photo of {w} holding a {A} {N} near a {M}.", "I'm allergic to {N}.",
    "{W} read a {A} book about {N} and {M}.", "I want to {V} more and spend less time on {N}.", "We adopted a {N} named {X} {T}.",
    "{W} got a job as a {N} at {X}.", "I can't {V} the {N} because of the {M}.", "Remember that my {N} is on {T}.",
    "I feel {A} when I {V}.",
    "{W} won a {N} in the {M} competition {T}.", "The trip to {X} was {A}, we saw a {N} and a {M}.",
    "It reminds me of the {N} that {w} gave me.",
    "I was {A} {T} because of my {N}, but now I'm {A2}.", "You should try the {N}, it's {A}.", "{W} grew up in {X} with a {N}.",
]  # fmt: skip
ASKED = [
    "What did {w} say about the {N}?", "Have you ever tried to {V} a {N}?", "When did {w} {V} the {N}?",
    "How does {w} feel about {N} and {M}?",
    "Where is the {N} that {w} wanted to {V}?", "Which {N} is the best for {M}?", "Do you like {N} or {M}?",
    "How can I {V} the {N} in my {M}?",
    "What kind of {N} does {X} have?", "Why did {X} decide to {V}?", "Who gave {X} the {N}?", "How was the {N}?",
    "What is {X}'s favorite {N}?",
    "How long has {X} been a {N}?", "What {N} did I buy {T}?", "Where did I go {T} to {V}?", "Does {w} have a {N}?",
    "How many {N}s did {X} {V}?",
    "What are {X}'s plans for the {N}?", "What happened at the {N} {T}?", "Tell me about your {N}.", "What does {X} do to {V}?",
    "Can you help me {V} my {N}?", "What advice did {X} give about {N}?", "Would {X} like a {A} {N}?", "Where does {w} work?",
]  # fmt: skip


def invent(
    rng: random.Random, words: Mapping[str, Sequence[str]], names: Sequence[str], count: int
) -> Iterator[str]:
    """``words``: nouns (``noun``), verbs (``verb``) and adjectives (``adj``)."""
    verbs = set(words["verb"])
    adjectives = set(words["adj"])
    # Fewer of the nouns that are more often something else.
    nouns = [
        word
        for word in words["noun"]
        if (word not in verbs and word not in adjectives) or rng.random() < 0.3
    ]
    for _ in range(count):
        form = rng.choice(ASKED if rng.random() < 0.35 else SAID)
        text = (rng.choice(ASIDES) + form).format(
            N=rng.choice(nouns),
            M=rng.choice(nouns),
            V=rng.choice(words["verb"]),
            A=rng.choice(words["adj"]),
            A2=rng.choice(words["adj"]),
            W=rng.choice(WHO),
            w=rng.choice(WHO),
            T=rng.choice(WHEN),
            X=rng.choice(names),
        )
        yield text[0].upper() + text[1:]
