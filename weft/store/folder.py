"""The state of an engine, opened: its catalog, its files, and the backends that read and change them.

Kept: a folder that holds state and no catalog is refused, and what was opened is closed where the rest cannot be.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from weft.backend.driver import DriverBackend
from weft.backend.duck import Duck
from weft.errors import EngineError
from weft.feeds.address import is_address
from weft.segments.cache import TableCache
from weft.segments.files import open_files
from weft.store.catalog import Catalog, sqlite_url
from weft.store.lost import check_not_lost, holds_state
from weft.store.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class StateFolder:
    """A state folder that is open: on the local disk, or on a file system that Spark reaches."""

    def __init__(self, root: str, catalog: str | None, spark: Callable[[], SparkSession]) -> None:
        self.root = root
        self.catalog = _open_catalog(root, catalog)
        try:
            self.files = open_files(f"{root}/segments", spark)
        except BaseException:
            self.catalog.close()
            raise
        # Readers get a thread each; ticks, which run in turn, get all cores.
        self.duck, self._worker = Duck(), Duck(threads=os.cpu_count() or 1)
        with self.catalog.read() as snapshot:
            self.cache = TableCache(self.files, names=snapshot.names())
        self.reading = DriverBackend(self.duck, self.cache, self.files)
        self.storage = Storage(self.catalog, self.files, DriverBackend(self._worker, self.cache, self.files))

    @property
    def local_path(self) -> str | None:
        """The folder on the local disk; None for a folder that is elsewhere."""
        return None if is_address(self.root) else self.root

    def checkpoint(self, stream: str) -> str:
        """Where Spark keeps the checkpoint of a stream."""
        return f"{self.root}/checkpoints/{stream}"

    def close(self) -> None:
        """Close the databases; the files stay."""
        self.duck.close()
        self._worker.close()
        self.catalog.close()


def root_of(state: str | os.PathLike[str], catalog: str | None) -> str:
    """The absolute path or the address of a state folder; refuses an address without a catalog of its own."""
    root = os.fspath(state).rstrip("/")
    if not is_address(root):
        return str(Path(root).absolute())
    if catalog is None:
        raise EngineError(
            "catalog-missing",
            f"{root} is not a local folder, so the catalog cannot be a file there",
            hint='Name a database, for example catalog="postgresql+psycopg://user@host/weft".',
        )
    return root


def _open_catalog(root: str, catalog: str | None) -> Catalog:
    """Open the catalog of that address, or else the file in the folder, which is made only in a new folder."""
    if catalog is not None:
        return Catalog(catalog)
    folder = Path(root)
    check_not_lost(folder)
    return Catalog(sqlite_url(folder / "catalog.sqlite"), make=lambda: not holds_state(folder))
