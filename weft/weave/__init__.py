"""Weave Share: which windows share a pass over the rows, and which are better computed apart."""
