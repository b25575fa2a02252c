"""The detection of secrets, measured on made-up ones and on ordinary messages."""

from __future__ import annotations

import pytest
from bench.secrets.__main__ import is_found
from bench.secrets.kinds import make_secrets
from bench.secrets.ordinary import make_messages

from engrams.extract import secrets


@pytest.mark.parametrize("seed", [20261128, 5])
def test_secrets_of_a_hundred_kinds_are_found(seed: int) -> None:
    """Of 100 kinds in five forms each, at most 15 of 500 are missed."""
    made_up = list(make_secrets(seed))
    assert len({item.kind for item in made_up}) == 100
    assert len(made_up) == 500
    assert len([item for item in made_up if not is_found(item)]) <= 15


def test_ordinary_messages_hold_no_secret() -> None:
    """Of 2,000 technical messages without a secret, at most 9 are changed."""
    messages = list(make_messages())
    assert len(messages) == 2000
    assert len([text for text in messages if secrets.scan(text)]) <= 9
