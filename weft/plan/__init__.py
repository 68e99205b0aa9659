"""Decisions about queries: pure functions over frozen dataclasses, no Spark, no clock, no input or output."""

from weft.algebra.windows import Window
from weft.weave.edges import (
    composite_slide,
    edge_rate,
    edge_rate_bounds,
    edges,
    overlap_factor,
    weaveability,
)
from weft.weave.exhaustive import exhaustive
from weft.weave.incremental import CurvePoint, IncrementalWeave
from weft.weave.lattice import Candidate, Lattice, LatticeChange, LatticeNode
from weft.weave.operations import Operations
from weft.weave.plans import Tree, WeavePlan
from weft.weave.policies import insert_then_weave, local_search, random_trees, share_all, share_none
from weft.weave.share import weave_share

__all__ = [
    "Candidate",
    "CurvePoint",
    "IncrementalWeave",
    "Lattice",
    "LatticeChange",
    "LatticeNode",
    "Operations",
    "Tree",
    "WeavePlan",
    "Window",
    "composite_slide",
    "edge_rate",
    "edge_rate_bounds",
    "edges",
    "exhaustive",
    "insert_then_weave",
    "local_search",
    "overlap_factor",
    "random_trees",
    "share_all",
    "share_none",
    "weave_share",
    "weaveability",
]
