"""Memories as Markdown files that people read, edit and version; ``open`` puts a vault beside a store."""

from engrams.vault.found import Cause as Cause
from engrams.vault.mirror import Mirror as Mirror
from engrams.vault.parts import Parts as Parts
from engrams.vault.parts import Report as Report
from engrams.vault.parts import Rules as Rules
from engrams.vault.vault import Vault as Vault
