"""What memory learned without a model, drawn into sheets for a reader who judges it."""
