"""Keys: made once, kept as hashes, ended at once."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fleet_places import Place

from engrams.api_keys import PREFIX, RIGHTS, ApiKeyStore
from engrams.core import Scope
from engrams.errors import InputError, NotFoundError, StoreError
from engrams.testing import SettableClock

ANN = Scope(("user", "ann"))


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock("2026-03-10T08:00")


@pytest.fixture
def ring(place: Place) -> ApiKeyStore:
    return place.open_keys()


def test_a_key_opens_what_it_was_made_for(ring: ApiKeyStore, clock: SettableClock) -> None:
    """Owner, rights and name come back; rights are in their own order, each once."""
    made, secret = ring.add("ci", ANN, ("write", "read", "read"), clock())
    found = ring.find(secret, clock())
    assert found == made
    assert (made.owner, made.rights, made.name, made.allows("admin")) == (
        ANN,
        ("read", "write"),
        "ci",
        False,
    )
    assert secret.startswith(PREFIX)


def test_only_a_hash_is_kept(ring: ApiKeyStore, clock: SettableClock, place: Place) -> None:
    """The key stands nowhere, and its id does."""
    key, secret = ring.add("ci", ANN, ("read",), clock())
    kept = place.read_everything()
    assert key.id in kept and secret not in kept and secret.split("_", 2)[2] not in kept


def test_a_file_of_a_key_is_closed_to_others(home: Path, clock: SettableClock) -> None:
    """Only its owner may read it."""
    ApiKeyStore.open(home).add("ci", ANN, ("read",), clock())
    (file,) = (home / "keys").iterdir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (home / "keys", file)] == [0o700, 0o600]


def test_every_key_is_another(ring: ApiKeyStore, clock: SettableClock) -> None:
    """Two keys of one name differ, and both open; the list has both, oldest first."""
    pairs = []
    for _ in range(5):
        pairs.append(ring.add("same", ANN, ("read",), clock()))
        clock.forward(1)
    assert len({secret for _, secret in pairs}) == 5
    assert [key.id for key in ring.list()] == [key.id for key, _ in pairs]


def test_expiry_is_exact(ring: ApiKeyStore, clock: SettableClock) -> None:
    """A key of one day opens until the day is over, and not at its end."""
    _, secret = ring.add("ci", ANN, ("read",), clock(), 1)
    clock.forward(days=1, seconds=-1)
    assert ring.find(secret, clock())
    clock.forward(1)
    assert ring.find(secret, clock()) is None and ring.recall(secret, clock()) is None


def test_revoking_ends_it_for_every_process(
    ring: ApiKeyStore, clock: SettableClock, place: Place
) -> None:
    """Another ring on the same memory sees it at once;
    revoking twice, also from another one, keeps the first time.
    """
    made, secret = ring.add("ci", ANN, ("read",), clock())
    other = place.open_keys()
    assert other.find(secret, clock())
    first = ring.revoke(made.id, clock())
    assert other.find(secret, clock()) is None
    clock.forward(days=1)
    assert {one.revoke(made.id, clock()).revoked_at for one in (ring, other)} == {first.revoked_at}
    assert [key.revoked_at for key in other.list()] == [first.revoked_at]


def test_a_key_that_a_server_was_asked_for_is_recalled_for_a_second(
    place: Place, ring: ApiKeyStore, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look-up counts for less than a second, and only that of a live key;
    files are looked at each time.
    """
    made, secret = ring.add("ci", ANN, ("read",), clock())
    passed = [0.0]
    monkeypatch.setattr("engrams.api_keys.key_store.time.monotonic", lambda: passed[0])
    assert ring.recall(secret, clock()) is None
    assert ring.find(secret, clock()) == made
    assert ring.recall(secret, clock()) == (made if place.url else None)
    assert ring.recall(secret[:-1] + ("a" if secret[-1] != "a" else "b"), clock()) is None
    place.open_keys().revoke(made.id, clock())
    passed[0] = 1.0
    assert ring.recall(secret, clock()) is None and ring.find(secret, clock()) is None
    assert ring.recall(secret, clock()) is None


def test_nothing_makes_a_revoked_key_live(
    place: Place, ring: ApiKeyStore, clock: SettableClock
) -> None:
    """Saving an older state of a key again, as a move does, neither revives it nor changes whom it
    opens.
    """
    made, secret = ring.add("ci", ANN, ("read",), clock())
    ring.revoke(made.id, clock())
    table = ring._table
    assert table.save_key(
        replace(made, rights=("admin",), owner=Scope(("user", "bob")))
    ) == table.find_key(made.id)
    assert ring.find(secret, clock()) is None
    assert [(key.owner, key.rights) for key in place.open_keys().list()] == [(ANN, ("read",))]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "engrams_",
        "engrams_" + "a" * 56,
        "engrams_../../../x_" + "a" * 43,
        "\0",
        "engrams_\ud800",
        "é" * 64,
    ],
)
def test_other_texts_open_nothing(ring: ApiKeyStore, clock: SettableClock, text: str) -> None:
    """Neither a path, nor half a key, nor any other text."""
    ring.add("ci", ANN, ("read",), clock())
    assert ring.find(text, clock()) is None


@pytest.mark.parametrize("id", ["../x", "", "a" * 12, "\0", "A" * 12])
def test_revoking_what_is_not_there(ring: ApiKeyStore, clock: SettableClock, id: str) -> None:
    """An id that names no key is not found, whatever it looks like."""
    with pytest.raises(NotFoundError):
        ring.revoke(id, clock())


def test_wrong_rights_and_owners(ring: ApiKeyStore, clock: SettableClock) -> None:
    """No right, an unknown one, and an owner that is only a part of one are refused."""
    for rights in ((), ("root",)):
        with pytest.raises(InputError) as caught:
            ring.add("ci", ANN, rights, clock())
        assert "read" in caught.value.hint
    with pytest.raises(InputError):
        ring.add("ci", ANN.within("project", "x"), RIGHTS, clock())


def test_a_damaged_file_opens_nothing_and_says_so(clock: SettableClock, home: Path) -> None:
    """A key whose file cannot be read is an error, never an open door."""
    ring = ApiKeyStore.open(home)
    made, secret = ring.add("ci", ANN, ("read",), clock())
    path = home / "keys" / f"{made.id}.json"
    for text in ("{", "[]", json.dumps({"id": made.id})):
        path.write_text(text)
        with pytest.raises(StoreError):
            ring.find(secret, clock())


def test_an_empty_home_has_no_keys(ring: ApiKeyStore, home: Path) -> None:
    """Looking makes no folder."""
    assert ring.list() == ()
    assert not home.exists()
