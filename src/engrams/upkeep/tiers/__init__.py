"""Tiers: moves memories from the working tier to the long term, and holds each tier to its cap.

Enter at ``memory_tiers.MemoryTiers``, which is ``engine.tiers`` and the handler of the tier jobs. It
calls ``long_term_move`` (cold items become the ``exchanges`` of the long term), ``memory_limits``
(caps) and ``importance_judge`` (a model rates and condenses items).
"""
