"""Statements extracted from talk by rules, without a model.

Enter at ``rule_extraction.extract_statements``, with the ``utterance.UtteranceContext`` of a text.
Nothing is imported here: two threads that load parts of this package at the same time would wait for
each other, and one of them would see half of a module.
"""
