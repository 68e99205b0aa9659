"""The sharing benchmark: both sides of each comparison in one run, answers checked to be equal."""
