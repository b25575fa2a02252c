"""How many tokens a text costs: an estimate, or a real tokenizer where there is one on this machine."""
