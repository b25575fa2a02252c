"""Other projects' own tests, run against our adapters."""
