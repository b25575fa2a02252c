"""Board: memories that install here without a model, side by side, on one page."""
