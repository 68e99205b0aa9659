"""A stored form is read by every Weft of the same format: what compiling yields may change only with that number."""

from __future__ import annotations

import hashlib
import json

from tests.sql.fakes import STREAMS, FakeAggregates
from weft.algebra.stored import FORMAT, to_json
from weft.sql.bind import compile_query

# Never changed: what they compile to is what old catalogs hold.
TEXTS = (
    "SELECT count(*) AS n FROM packets",
    "SELECT saddr, sum(length) AS bytes FROM packets WHERE proto = 6 GROUP BY window(ts, '20 seconds', '10 seconds'), saddr",
    "SELECT length % 10 AS g, max(length) AS m FROM packets WHERE NOT (length BETWEEN 5 AND 40) GROUP BY length % 10",
    "SELECT saddr FROM packets WHERE saddr LIKE '10.%' GROUP BY window(ts, '1 minute'), saddr "
    "HAVING count(*) > 3 ORDER BY sum(length) DESC LIMIT 5",
    "SELECT count(DISTINCT saddr) AS n, sum(length) FILTER (WHERE proto IN (6, 17)) AS t FROM packets "
    "GROUP BY window(ts, '1 hour', '10 minutes', '5 minutes')",
    "SELECT CASE WHEN length > 100 THEN 'large' ELSE 'small' END AS size, avg(length) AS mean FROM packets "
    "GROUP BY CASE WHEN length > 100 THEN 'large' ELSE 'small' END",
)
# The digest of their forms, by format. Where the test fails, raise FORMAT in weft/algebra/stored.py and add a line.
DIGESTS = {1: "6a284681531ad206ba00dae00cdcb3ab"}


def test_what_is_compiled_changes_only_with_the_format() -> None:
    forms = [to_json(compile_query(text, STREAMS, FakeAggregates())) for text in TEXTS]
    assert hashlib.sha256(json.dumps(forms).encode()).hexdigest()[:32] == DIGESTS[FORMAT]
