"""Encryption of a home: its key, its databases and its other files.

``unlock_home`` opens a home, ``rekey`` changes its key. The key itself is in the header
(``header``), wrapped with one from outside (``key_sources``).
"""

from __future__ import annotations

from engrams.encryption.beside_reader import open_beside, peek
from engrams.encryption.cipher_connection import connect, connect_copy, require_own_file
from engrams.encryption.header import HEADER
from engrams.encryption.home_database import HomeDatabase, close_replaced, identify
from engrams.encryption.home_keys import (
    HomeKeyring,
    find_keys,
    find_raw_keys,
    prepare_home,
    unlock_home,
    write_backup_header,
)
from engrams.encryption.home_lock import hold_home, home_of, share_home
from engrams.encryption.key_sources import remember_passphrases, typed_passphrases
from engrams.encryption.page_reader import RESERVED, decrypt_any, is_plain

__all__ = [
    "HEADER",
    "RESERVED",
    "HomeDatabase",
    "HomeKeyring",
    "close_replaced",
    "connect",
    "connect_copy",
    "decrypt_any",
    "find_keys",
    "find_raw_keys",
    "hold_home",
    "home_of",
    "identify",
    "is_plain",
    "open_beside",
    "peek",
    "prepare_home",
    "remember_passphrases",
    "require_own_file",
    "share_home",
    "typed_passphrases",
    "unlock_home",
    "write_backup_header",
]
