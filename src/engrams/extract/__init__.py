"""Statements read out of texts, without a store: gate, secrets, rules, models, policy.

Enter at ``by_rules.extract_by_rules`` to read one message by rules, at
``by_model.extract_by_model`` to read several by a chat model, and at ``gate.gate_text`` to ask if a
text is worth reading. All extractors return ``candidate.CandidateStatement``.
"""
