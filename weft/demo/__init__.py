"""The demo: a generated packet stream, a thousand queries on it, and a check of their answers."""
