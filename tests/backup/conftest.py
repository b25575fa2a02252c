"""Homes with a vault, as the tests of the vault have them."""

from tests.vault.conftest import desk, desks

__all__ = ["desk", "desks"]
