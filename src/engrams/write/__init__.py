"""Write flow: messages on their way into memory, and the facts that are learned from them.

Enter at ``ingest.add``, which stores messages, and at ``digest.learn``, which learns from stored
ones. Texts are read by ``engrams.extract``; stores and models are reached through ``engrams.ports``.
"""
