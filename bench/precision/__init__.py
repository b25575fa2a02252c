"""PrecisionMemBench, run by its own runner against a served engrams: ``python -m bench.precision``."""
