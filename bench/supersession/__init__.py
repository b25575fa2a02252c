"""How often a later statement closes an earlier one, rightly and wrongly, without a model."""
