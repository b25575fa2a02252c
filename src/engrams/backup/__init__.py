"""Backups of a home: database, vault and the vault's state in one file, sealed where asked.

- ``home_backup``: writes a backup of a home in use, and restores one.
- ``archive``: the file's format, a compressed tar with hashes; ``sealing``: its encryption.
- ``database_rescue``: replaces a damaged database by the newest backup or by the vault's files.
- ``work_folders``: folders for copies meanwhile; those of killed processes are removed.
"""
