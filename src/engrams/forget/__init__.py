"""Correcting, forgetting and purging of memories, and everything that follows for others.

- ``edits``: ``MemoryEditor`` sets new values of one record.
- ``forgetting``, ``restoring``: ``MemoryForgetter`` puts memories away and brings them back.
- ``purge``: ``MemoryPurger`` erases memories for good, and proves it. Its docstring tells the
  order of the steps.
- ``cascade``, ``source_changes``, ``dependents``: what follows for facts, messages and summaries.

The page docs/contributing/forgetting.md tells how far each of them reaches.
"""
