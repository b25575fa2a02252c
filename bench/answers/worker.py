"""Contexts of the engrams that this interpreter has installed, as JSON on stdout."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bench.quality.data import Item
from bench.quality.systems import OWNER, EngramsSystem, make_embedder


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.answers.worker", description=__doc__)
    parser.add_argument("job", type=Path)
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--embedder", default="builtin")
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    settings = {
        name.replace(".", "__"): value
        for name, value in (each.split("=", 1) for each in options.set)
    }
    embedder = make_embedder(options.embedder)
    made = {}
    for talk in json.loads(options.job.read_text("utf-8")):
        system = EngramsSystem(embedder, **settings)
        system.fill([Item(**item) for item in talk["items"]])
        for key, text in talk["questions"].items():
            made[key] = system.engine.context(text, scope=OWNER, tokens=options.tokens).text
        system.close()
    print(json.dumps(made))


if __name__ == "__main__":
    main()
