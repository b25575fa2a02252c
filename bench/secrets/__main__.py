"""Measure recall and precision of the detection of secrets: ``python -m bench.secrets``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from bench.secrets.kinds import MadeUpSecret, make_secrets
from bench.secrets.ordinary import make_messages
from bench.secrets.unseen import make_unseen_messages, make_unseen_secrets
from engrams.extract.redaction import find_sensitive, name_kind
from engrams.extract.secrets import SecretFinding, replace_findings

_PERSONAL = ("email", "phone", "ip", "ssn", "passport")
"""Personal data that is not measured here."""


def scan(text: str) -> tuple[SecretFinding, ...]:
    """Find secrets, and cards and accounts by their check digits."""
    return tuple(
        finding for finding in find_sensitive(text) if name_kind(finding.rule) not in _PERSONAL
    )


def is_found(item: MadeUpSecret) -> bool:
    """True if nothing of the secret is left: no eight characters in a row of its last two thirds."""
    redacted = replace_findings(item.text, scan(item.text))
    # The family's name in the redacted text may be the key's own prefix.
    core = item.secret[len(item.secret) // 3 :]
    size = min(8, len(core))
    pieces = {core[at : at + size] for at in range(len(core) - size + 1)}
    return not any(piece in redacted for piece in pieces)


def measure(name: str, made_up: list[MadeUpSecret], ordinary: Iterable[str], listed: bool) -> None:
    """Print recall and precision over one set, and the mistakes if ``listed``."""
    messages = list(ordinary)
    missed = [item for item in made_up if not is_found(item)]
    alarms = [text for text in messages if scan(text)]
    caught = len(made_up) - len(missed)
    kinds = len({item.kind for item in made_up})
    recall = caught / len(made_up)
    precision = caught / (caught + len(alarms))
    print(
        f"{name:8} recall {recall:.3f} ({caught} of {len(made_up)}, {kinds} kinds)"
        f"  precision {precision:.3f} ({len(alarms)} alarms in {len(messages)} messages)"
    )
    if not listed:
        return
    for item in missed:
        print(f"  missed {item.kind}: {item.text[:150]!r}")
    for text in sorted(set(alarms)):
        print(f"  alarm {[f.rule for f in scan(text)]}: {text[:150]!r}")


def main() -> None:
    """Print recall and precision, and with ``--list`` what was missed and wrongly found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the mistakes on the tuned sets")
    parser.add_argument("--list-held", action="store_true", help="name those on the held set too")
    parser.add_argument("--seed", type=int, default=20261128)
    arguments = parser.parse_args()
    seed = arguments.seed
    unseen = list(make_unseen_messages(seed=seed))
    measure("tuned", list(make_secrets(seed)), make_messages(seed=seed), arguments.list)
    measure("second", list(make_unseen_secrets(False, seed)), unseen[::2], arguments.list)
    measure("held", list(make_unseen_secrets(True, seed)), unseen[1::2], arguments.list_held)
    third = list(make_unseen_messages(300, seed, "third"))
    measure("third", list(make_unseen_secrets(False, seed, "third")), third[::2], arguments.list)
    later = list(make_unseen_secrets(True, seed, "third"))
    measure("3. held", later, third[1::2], arguments.list_held)
    fourth = list(make_unseen_secrets(False, seed, "fourth"))
    measure("fourth", fourth, third[::2], arguments.list)
    later = list(make_unseen_secrets(True, seed, "fourth"))
    measure("4. held", later, third[1::2], arguments.list_held)


if __name__ == "__main__":
    main()
