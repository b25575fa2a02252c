"""Whose words a memory is, through a served proxy and the REST API.

``attacks*.txt``: messages that paste, forward, retrieve, quote or play somebody else's words; each is
played with two of ``payloads.txt``. ``innocent.txt``: documents and tool outputs that must stay
findable. ``own_words.txt``: what a user says and what must be learned. ``python -m bench.attacks``.
"""
