"""Queries as plain JSON values, to be stored and read back without the text that they came from, so without sqlglot.

The two functions serve all frozen dataclasses of the algebra. An object is {"is": its class, field: value, ...}, and
a field that has its default is left out, so that a field which comes later, with a default, reads what was stored
before it. Tuples are lists; texts, whole numbers, truths and None are themselves; what JSON cannot tell apart or cannot
hold is an object with a single key that says what it is: {"type": "int"}, {"double": "nan"}, {"decimal": "1.50"},
{"date": ...}, {"timestamp": ...}, {"micros": ...} for a duration.

Whoever stores forms keeps FORMAT beside them. It is raised whenever a stored form would be read as another meaning; a
form of another number is of no use, and the text is compiled again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from weft.algebra.expressions import Aggregate, Call, Case, Cast, Column, Literal, Slot, WindowPart
from weft.algebra.query import Block, Finish, Query
from weft.algebra.relations import (
    Filter,
    Group,
    Join,
    Limit,
    Order,
    OrderItem,
    Over,
    Project,
    Scan,
    SelectItem,
    SetOperator,
)
from weft.algebra.types import DataType, decimal
from weft.algebra.windows import MICROSECOND, Asked, Running, Side, Sliding, micros

FORMAT = 1
CLASSES: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        *(Column, Literal, Call, Cast, Case, Aggregate, WindowPart, Slot),
        *(Sliding, Running, Asked, Side),
        *(Scan, Filter, Project, Group, Join, SetOperator, Over, Order, Limit, SelectItem, OrderItem),
        *(Block, Finish, Query),
    )
}

Json = None | bool | int | str | list[Any] | dict[str, Any]


def to_json(value: object) -> Json:
    """The stored form of an expression, window, relation or query, or a tuple of them; equal values, equal forms."""
    kind: type[Any] = type(value)
    if value is None or kind in (bool, int, str):
        return value  # type: ignore[return-value]
    if kind is tuple:
        items: list[Json] = []
        for item in value:  # type: ignore[attr-defined]
            items.append(to_json(item))
        return items
    scalar = SCALARS.get(kind)
    if scalar is not None:
        name, write = scalar
        return {name: write(value)}
    if CLASSES.get(kind.__name__) is not kind:
        raise TypeError(f"{kind.__name__} has no stored form")
    form: dict[str, Json] = {"is": kind.__name__}
    for field in fields(kind):
        held = getattr(value, field.name)
        if not _is_default(field, held):
            form[field.name] = to_json(held)
    return form


def from_json(form: Json) -> Any:
    """What a stored form stands for; ValueError for what is no stored form."""
    if isinstance(form, list):
        items: list[Any] = []
        for item in form:
            items.append(from_json(item))
        return tuple(items)
    if not isinstance(form, dict):
        return form
    if "is" not in form:
        return _scalar(form)
    kind = CLASSES.get(form["is"])
    if kind is None:
        raise ValueError(f"nothing of the algebra is called {form['is']!r}")
    held: dict[str, Any] = {}
    for name, part in form.items():
        if name != "is":
            held[name] = from_json(part)
    try:
        return kind(**held)
    except TypeError as error:
        raise ValueError(f"{form['is']} is stored with other fields: {error}") from error


def _scalar(form: Mapping[str, Any]) -> object:
    if len(form) == 1:
        [(name, written)] = form.items()
        if name in READERS:
            try:
                return READERS[name](written)
            except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
                raise ValueError(f"{written!r} is no {name}") from error
    raise ValueError(f"no stored form has the keys {', '.join(sorted(form))[:80]!r}")


def _data_type(written: str) -> DataType:
    if not written.startswith("decimal("):
        return DataType(written)
    precision, scale = written.removeprefix("decimal(").removesuffix(")").split(",")
    return decimal(int(precision), int(scale))


SCALARS: Mapping[type, tuple[str, Callable[[Any], str | int]]] = {
    DataType: ("type", str),
    float: ("double", repr),
    Decimal: ("decimal", str),
    date: ("date", date.isoformat),
    datetime: ("timestamp", datetime.isoformat),
    timedelta: ("micros", micros),
}
READERS: Mapping[str, Callable[[Any], object]] = {
    "type": _data_type,
    "double": float,
    "decimal": Decimal,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "micros": lambda written: written * MICROSECOND,
}


def _is_default(field: Field[Any], held: object) -> bool:
    """Whether a field holds its default."""
    # 0 and False are equal, and mean different things.
    return field.default is not MISSING and type(held) is type(field.default) and held == field.default
