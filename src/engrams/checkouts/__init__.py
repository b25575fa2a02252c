"""Checkouts of code on this machine, read so that memories stay true to them.

``CheckoutReader`` (``code_anchor_reader``) is the entry. ``code_names`` finds the names in a text,
``anchor_making`` and ``anchor_checks`` make and check anchors, ``source_trees`` reads the files of
today or of a commit, and ``file_outlines`` lists the definitions of one file. No program is
started, and nothing outside of the checkout is read.
"""
