"""OpenAI-compatible proxy: adds memory to requests and stores the turns."""
