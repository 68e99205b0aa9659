"""The worlds of the simulation, in which ticks run without Spark."""

from tests.simulation.conftest import world

__all__ = ["world"]
