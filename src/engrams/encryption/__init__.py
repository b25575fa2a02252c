"""Encryption of a home: its key, its databases and its other files."""

from __future__ import annotations

from engrams.encryption.besidereader import open_beside as open_beside
from engrams.encryption.besidereader import peek as peek
from engrams.encryption.homedatabase import HomeDatabase as HomeDatabase
from engrams.encryption.homedatabase import close_replaced as close_replaced
from engrams.encryption.homedatabase import identify as identify
from engrams.encryption.homekeys import HomeKeyring as HomeKeyring
from engrams.encryption.homekeys import connect as connect
from engrams.encryption.homekeys import connect_copy as connect_copy
from engrams.encryption.homekeys import find_keys as find_keys
from engrams.encryption.homekeys import find_raw_keys as find_raw_keys
from engrams.encryption.homekeys import hold_home as hold_home
from engrams.encryption.homekeys import home_of as home_of
from engrams.encryption.homekeys import prepare_home as prepare_home
from engrams.encryption.homekeys import require_own_file as require_own_file
from engrams.encryption.homekeys import share_home as share_home
from engrams.encryption.homekeys import unlock_home as unlock_home
from engrams.encryption.homekeys import write_backup_header as write_backup_header
from engrams.encryption.keyheader import HEADER as HEADER
from engrams.encryption.keysources import remember_passphrases as remember_passphrases
from engrams.encryption.keysources import typed_passphrases as typed_passphrases
from engrams.encryption.pagereader import RESERVED as RESERVED
from engrams.encryption.pagereader import decrypt_any as decrypt_any
from engrams.encryption.pagereader import is_plain as is_plain
