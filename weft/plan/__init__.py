"""Decisions about queries: pure functions over frozen dataclasses, no Spark, no clock, no input or output."""

from weft.plan.lattice import Candidate, Lattice, LatticeChange, LatticeNode
from weft.plan.weave.edges import (
    composite_slide,
    edge_rate,
    edge_rate_bounds,
    edges,
    overlap_factor,
    weaveability,
)
from weft.plan.weave.exhaustive import exhaustive
from weft.plan.weave.incremental import CurvePoint, IncrementalWeave
from weft.plan.weave.operations import Operations
from weft.plan.weave.plans import Tree, WeavePlan
from weft.plan.weave.policies import insert_then_weave, local_search, random_trees, share_all, share_none
from weft.plan.weave.share import weave_share
from weft.plan.windows import Window

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
