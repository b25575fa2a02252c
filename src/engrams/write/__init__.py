"""Write flow: gate, extract, policy, dedup, reconcile, persist.

Each step is a pure function over frozen candidates; ``flow`` runs them in order and is the only one
that talks to stores and models, through ``engrams.ports``.
"""
