"""Decisions about queries: pure functions over frozen dataclasses, no Spark, no clock, no input or output.

The papers' own optimizers (weft/weave) are exported from here by their names; they are loaded when they are used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.algebra.windows import Sliding as Window
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

_MODULES = {
    "edges": ("composite_slide", "edge_rate", "edge_rate_bounds", "edges", "overlap_factor", "weaveability"),
    "exhaustive": ("exhaustive",),
    "incremental": ("CurvePoint", "IncrementalWeave"),
    "lattice": ("Candidate", "Lattice", "LatticeChange", "LatticeNode"),
    "operations": ("Operations",),
    "plans": ("Tree", "WeavePlan"),
    "policies": ("insert_then_weave", "local_search", "random_trees", "share_all", "share_none"),
    "share": ("weave_share",),
}


def __getattr__(name: str) -> Any:
    if name == "Window":
        return import_module("weft.algebra.windows").Sliding
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"weft.weave.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
