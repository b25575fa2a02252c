"""What memory puts into prompts: how much of it helps, and whether it is silent where nothing does."""
