"""The OpenAI-compatible proxy: chat requests gain memory on their way up, and what was said is kept on the way down."""
