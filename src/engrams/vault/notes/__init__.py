"""Notes of an owner: a daily note, MEMORY.md, the diary of dreams, and free documents.

``VaultNotes`` (``vault_notes``) is the entry; it runs the jobs and brings the parts together.

- ``daily_notes``: appends what was said to the note of the day; ``empty_answers`` knows answers of
  a model that has nothing to write down.
- ``dream``: moves lasting facts from daily notes into MEMORY.md; ``dream_schedule`` says when,
  ``dream_model`` lets a model choose, ``memory_md`` chooses by rules.
- ``note_index``: makes notes searchable, in chunks (``text_chunks``).
- ``note_lines``: tells which lines no longer hold, because their memories were changed.
- ``note_paths``: where the notes lie.
"""
