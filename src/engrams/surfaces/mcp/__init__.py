"""Model Context Protocol server: tools, resources and a prompt."""
