"""engrams beside other memories: the same data, machine, questions and embedding model, in one run."""
