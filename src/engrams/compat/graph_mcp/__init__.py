"""Tools of the reference knowledge graph server for MCP."""
