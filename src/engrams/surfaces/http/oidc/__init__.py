"""Tokens of an OpenID Connect provider as keys of the server.

Open `token_verifier` first.

- `token_verifier`: checks a token and says whose memory it opens, with which rights
- `signing_keys`: public keys of the provider, read and remembered
- `resource_metadata`: tells MCP clients which provider gives tokens for this server
- `page_login`: exchanges the code of a login for a token, for the page
- `token_authorization`: opens these parts where a provider is set
"""
