"""Token counters: an estimate, or a tokenizer on this machine."""
