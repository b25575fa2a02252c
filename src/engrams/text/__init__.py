"""Text functions for every layer: folding, index terms, features, times. Pure."""
