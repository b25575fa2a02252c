"""The detection of secrets, measured on made-up ones and on ordinary messages."""

from __future__ import annotations

import pytest
from bench.secrets.__main__ import is_found, scan
from bench.secrets.kinds import make_secrets
from bench.secrets.ordinary import make_messages
from bench.secrets.unseen import make_unseen_messages, make_unseen_secrets


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
    assert len([text for text in messages if scan(text)]) <= 9


def test_secrets_by_another_hand_are_found() -> None:
    """Of 64 kinds in five forms that the detection was not written for, at most 9 of 320 are missed.

    Of 400 ordinary messages beside them, at most 6 are changed.
    """
    made_up = [*make_unseen_secrets(held=False), *make_unseen_secrets(held=True)]
    assert len(made_up) == 320
    assert len([item for item in made_up if not is_found(item)]) <= 9
    assert len([text for text in make_unseen_messages() if scan(text)]) <= 6


def test_secrets_in_six_languages_and_of_new_services_are_found() -> None:
    """Of 44 kinds in three forms by a third hand, at most 8 of 132 are missed.

    Of 300 lookalikes beside them, at most 4 are changed.
    """
    made_up = [make_unseen_secrets(held, name="third") for held in (False, True)]
    secrets = [item for half in made_up for item in half]
    assert len(secrets) == 132
    assert len([item for item in secrets if not is_found(item)]) <= 8
    assert len([text for text in make_unseen_messages(300, name="third") if scan(text)]) <= 4
