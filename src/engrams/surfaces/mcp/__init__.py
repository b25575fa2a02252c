"""The Model Context Protocol: memory as tools, resources and a prompt, over stdio or HTTP."""
