"""The whole thing, once, for real: PostgreSQL, a web server, a worker, visitors, and an account of what happened."""
