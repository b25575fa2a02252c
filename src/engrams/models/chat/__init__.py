"""Chat models: one file per kind of server, and what every one of them gets: retries, corrections, a meter, a budget."""
