"""Files of memories, in step with the store both ways.

- ``importer``: from the files into memory. Its entry is ``VaultFileImporter.run``.
- ``outbox``: from memory into the files. Its entry is ``VaultOutboxWriter.flush``.
- ``watcher``: notices the changes of hands. ``stale_sync_rows``: notices a database that was lost.
- ``record_markdown``, ``front_matter``, ``vault_paths``: the form of a file and its name.
- ``sync_state``: what each file and its memory last had in common.
- ``memory_file_commands``: file commands for a model, over documents and memories.
"""
