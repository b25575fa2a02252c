"""Memories as Markdown files that people read, edit and version. ``build.open`` puts a vault beside a store; ``MemoryEngine.vault``
is it, or None.

What other rooms may ask of it, through ``engrams.ports`` alone: ``Notes.flush(Flush(owner, records, reason, day)) -> bool`` appends to
the owner's daily note; a job of kind ``DAILY`` does the same later.
"""

from engrams.vault.parts import Parts as Parts
from engrams.vault.parts import Report as Report
from engrams.vault.parts import Rules as Rules
from engrams.vault.scan import Cause as Cause
from engrams.vault.storewrapper import VaultStore as VaultStore
from engrams.vault.vault import Vault as Vault
