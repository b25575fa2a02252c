"""Statements read out of texts, without a store: gate, secrets, rules, models, policy.

Enter at ``by_rules.extract_by_rules`` for what rules read in one message, at
``by_model.extract_by_model`` for what a chat model reads in several, and at ``gate.gate_text`` for
what nothing is read from. ``candidate.CandidateStatement`` is what all of them return.
"""
