"""Weave Share: which windows share one pass over the rows, and which are better computed apart."""
