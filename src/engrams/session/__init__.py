"""Sessions: conversations from their first turn to their end.

Enter at ``registry.SessionRegistry``, which is ``engine.sessions``: it begins, keeps and ends
sessions. ``ending`` is the job that ends one, ``summaries`` keeps a conversation's running
summaries, ``delivery`` gives each turn its context, ``commands`` answers requests about memory
itself, and ``chat_answers`` lets a model answer with memory.
"""
