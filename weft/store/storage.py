"""The parts of a state folder that every change of the state needs, under one name."""

from __future__ import annotations

from dataclasses import dataclass

from weft.backend.interface import Backend
from weft.segments.files import Files
from weft.store.catalog import Catalog


@dataclass(frozen=True)
class Storage:
    """The catalog of a state folder, the files that it names, and the backend that works on the rows in them."""

    catalog: Catalog
    files: Files
    backend: Backend
