"""How fast, how large: ``python -m bench.speed``."""
