"""Measure recall and precision of the detection of secrets: ``python -m bench.secrets``."""

from __future__ import annotations

import argparse

from bench.secrets.kinds import MadeUpSecret, make_secrets
from bench.secrets.ordinary import make_messages
from engrams.extract import secrets
from engrams.extract.secrets import replace_findings


def is_found(item: MadeUpSecret) -> bool:
    """True if nothing of the secret is left: no eight characters in a row of its last two thirds."""
    redacted = replace_findings(item.text, secrets.scan(item.text))
    # The family's name in the redacted text may be the key's own prefix.
    core = item.secret[len(item.secret) // 3 :]
    size = min(8, len(core))
    pieces = {core[at : at + size] for at in range(len(core) - size + 1)}
    return not any(piece in redacted for piece in pieces)


def main() -> None:
    """Print recall and precision, and with ``--list`` what was missed and wrongly found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the mistakes")
    parser.add_argument("--seed", type=int, default=20261128)
    arguments = parser.parse_args()
    made_up = list(make_secrets(arguments.seed))
    missed = [item for item in made_up if not is_found(item)]
    messages = list(make_messages(seed=arguments.seed))
    alarms = [text for text in messages if secrets.scan(text)]
    caught = len(made_up) - len(missed)
    kinds = len({item.kind for item in made_up})
    print(f"recall     {caught / len(made_up):.3f}  ({caught} of {len(made_up)}, {kinds} kinds)")
    print(f"precision  {caught / (caught + len(alarms)):.3f}  ({len(alarms)} of {len(messages)})")
    if arguments.list:
        for item in missed:
            print(f"  missed {item.kind}: {item.text[:150]!r}")
        for text in sorted(set(alarms))[:60]:
            print(f"  alarm {[f.rule for f in secrets.scan(text)]}: {text[:150]!r}")


if __name__ == "__main__":
    main()
