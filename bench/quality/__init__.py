"""Evidence recall: does the memory find the turns that answer a question? One command, one table, one JSON file."""
