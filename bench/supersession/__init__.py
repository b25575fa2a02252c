"""False and missed supersession between two statements, without a model."""
