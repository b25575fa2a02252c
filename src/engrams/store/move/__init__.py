"""Moving memory between a home and a fleet: each table is copied, and compared."""
