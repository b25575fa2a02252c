"""Purges in the places beside the store: the vault's files and notes, git, copies, backups, uploads.

``engrams.forget.purge`` tells the order of a purge. Its port ``HomeFileCleaner`` is served by
``HomeFilePurger`` (``home_purge``), and with uploads in a fleet's tables by ``UploadPurger``
(``upload_purge``). Files of pictures and sounds go by ``AttachmentPurger`` (``attachment_purge``).
The files of the erased memories themselves go by ``VaultMemoryEraser`` (``erasure``), in one step
with the store.
"""
