"""Learning with a chat model, measured on recorded answers."""
