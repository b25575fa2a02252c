"""Encryption of a home: its key, its databases and its other files."""

from __future__ import annotations

from engrams.encryption.access import HomeKeyring as HomeKeyring
from engrams.encryption.access import connect as connect
from engrams.encryption.access import connect_copy as connect_copy
from engrams.encryption.access import find_keys as find_keys
from engrams.encryption.access import find_raw_keys as find_raw_keys
from engrams.encryption.access import hold_home as hold_home
from engrams.encryption.access import home_of as home_of
from engrams.encryption.access import prepare_home as prepare_home
from engrams.encryption.access import require_own_file as require_own_file
from engrams.encryption.access import share_home as share_home
from engrams.encryption.access import unlock_home as unlock_home
from engrams.encryption.access import write_backup_header as write_backup_header
from engrams.encryption.database import HomeDatabase as HomeDatabase
from engrams.encryption.database import close_replaced as close_replaced
from engrams.encryption.database import identify as identify
from engrams.encryption.header import HEADER as HEADER
from engrams.encryption.pagereader import RESERVED as RESERVED
from engrams.encryption.pagereader import decrypt_any as decrypt_any
from engrams.encryption.pagereader import is_plain as is_plain
