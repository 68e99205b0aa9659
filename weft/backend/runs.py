"""An index of a file of finished windows: where the rows of each request and window begin.

A file may hold millions of windows: the index is a sorted table of 28 bytes a window, and a look-up two searches in it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.segments.roll import REQUEST
from weft.segments.rows import END

BEGIN, LENGTH = "begin", "length"


def runs(table: pa.Table) -> pa.Table:
    """List the begin and length of every run of rows with equal request and window end, ordered by these two."""
    requests = table[REQUEST].combine_chunks().dictionary_encode()
    codes, ends = requests.indices.to_numpy(zero_copy_only=False), table[END].to_numpy()
    changes = np.flatnonzero((codes[1:] != codes[:-1]) | (ends[1:] != ends[:-1])) + 1
    begins = np.concatenate([np.zeros(min(1, len(codes)), np.int64), changes])
    lengths = np.diff(begins, append=len(codes))
    order = np.lexsort((ends[begins], codes[begins]))
    requests = pa.DictionaryArray.from_arrays(pa.array(codes[begins][order]), requests.dictionary)
    columns = [requests, pa.array(ends[begins][order]), pa.array(begins[order]), pa.array(lengths[order])]
    return pa.table(columns, names=[REQUEST, END, BEGIN, LENGTH])


def runs_of(index: pa.Table, request: str, first: int, last: int) -> list[tuple[int, int]]:
    """Look up where the rows of a request's windows that end from `first` to `last` begin, and their number, by end."""
    if not index.num_rows:
        return []
    requests, ends = index[REQUEST].chunk(0), index[END].chunk(0).to_numpy()
    code = pc.index(requests.dictionary, request).as_py()
    if code < 0:
        return []
    low, high = np.searchsorted(requests.indices.to_numpy(), [code, code + 1])
    begin = low + np.searchsorted(ends[low:high], first)
    entries = index.slice(int(begin), int(low + np.searchsorted(ends[low:high], last, "right") - begin))
    return list(zip(entries[BEGIN].to_pylist(), entries[LENGTH].to_pylist(), strict=True))
