"""Measurements. Each prints one table and writes JSON to ``bench/out``."""
