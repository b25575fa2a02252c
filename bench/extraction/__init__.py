"""How well statements are extracted without a model, on labelled turns of real conversations."""
