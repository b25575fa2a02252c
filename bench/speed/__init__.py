"""Speed and size: ``python -m bench.speed``."""
