"""The Spark session of an engine: the user's own, or a local session that starts when somebody first asks for it.

A state folder is opened with it, since the folder may be on a file system that only Spark reaches.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import engine_closed
from weft.feeds.address import is_address
from weft.store.folder import StateFolder, root_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class EngineSession:
    """Holds the session of an engine; safe to use from several threads.

    pyspark is loaded with the first session, so a process that only reads never loads it.
    """

    def __init__(
        self, session: SparkSession | None, local_path: str | None, settings: Mapping[str, str] | None
    ) -> None:
        self._session, self._local_path, self._settings = session, local_path, dict(settings or {})
        # Spark takes seconds to start: nobody who only reads waits for this lock.
        self._lock, self._left = threading.RLock(), False
        if session is not None:
            from weft.spark.session import enter, warn_of_open_doors, warn_of_time_zone

            warn_of_open_doors(session)
            warn_of_time_zone(session)
            enter(session)

    @property
    def is_open(self) -> bool:
        """Whether there is a session, handed over or started."""
        return self._session is not None

    def get(self) -> SparkSession:
        """The session; a local session is started where there is none."""
        with self._lock:
            if self._left:
                raise engine_closed()
            from weft.spark.session import start_for_engine

            if self._session is None:
                folder = None if self._local_path is None else Path(self._local_path)
                self._session = start_for_engine(folder, self._settings)
            return self._session

    def leave(self) -> None:
        """Use the session no more; a Spark that an engine started ends with its last engine."""
        with self._lock:
            left, self._left = self._left, True
            if self._session is not None and not left:
                from weft.spark.session import leave

                leave(self._session)


def open_state(
    state: str | os.PathLike[str],
    catalog: str | None,
    spark: SparkSession | None,
    settings: Mapping[str, str] | None,
) -> tuple[EngineSession, StateFolder]:
    """Open a state folder, and the session that it may need; a folder that cannot be opened leaves no session."""
    root = root_of(state, catalog)
    session = EngineSession(spark, None if is_address(root) else root, settings)
    try:
        return session, StateFolder(root, catalog, session.get)
    except BaseException:
        session.leave()
        raise
