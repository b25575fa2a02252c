"""History of the files in git, and their exchange with other places.

``VaultHistory`` (``vault_history``) is the entry: it commits, reverts, and pulls and pushes.

- ``git``: the repository, without a git program; ``commit_message``: messages and authors.
- ``commit_revert``: undoes one commit, memory by memory.
- ``remote_sync``, ``remote_merge``: exchange through a git remote, merged memory by memory.
- ``three_way_merge``: two changes of a record or text, with their base.
"""
