"""State by name: each kind of member declares once, as a ``NamedTuple``, what it keeps.

    class FernsState(NamedTuple):
        width: int                                              # a size of the model
        ferns: int                                              # a size of its own
        facts: Annotated[Array, state("f8", FACTS, "ferns")]    # saved with the model
        cells: Annotated[Array, scratch("i8", "ferns")]         # what one call leaves for the next

An ``int`` is a number in the plan: the model's, one that all members have, or the member's own. An
array is a section of the block: its type, its dimensions and where it is kept. Dimensions are
numbers, names of such ints (or of sizes that no kernel needs by themselves), or several of these in
brackets, which kernels see as one dimension.

Whoever lays out the block asks ``sections_of`` and ``own_sizes``. A kernel asks
``views(FernsState, state, scratch, plan, member)`` and hands the tuple to its helpers. Compiled,
that is a few loads and additions: an array that nobody touches costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from stream_llsvm.kernels.compile import Array
from stream_llsvm.kernels.plan import FIRST_SECTION, MEMBER_COLUMNS, MODEL_COLUMNS, OWN
from stream_llsvm.kernels.views import VIEWS, array_at

Dimension = int | str | tuple[int | str, ...]


class Section(NamedTuple):
    """A part of the block: its name, its type, its dimensions, and in which block it lies."""

    name: str
    type: str
    dimensions: tuple[Dimension, ...]
    where: str

    @property
    def flat_dimensions(self) -> tuple[int | str, ...]:
        """The dimensions, each by itself."""
        parts = (d if isinstance(d, tuple) else (d,) for d in self.dimensions)
        return tuple(size for part in parts for size in part)


def state(type: str, *dimensions: Dimension) -> Section:
    """Say that a field is an array that is saved with the model."""
    return Section("", type, dimensions, "state")


def scratch(type: str, *dimensions: Dimension) -> Section:
    """Say that a field is an array that only lasts from one call to the next."""
    return Section("", type, dimensions, "scratch")


@cache
def fields_of(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Return a tuple's fields: each a Section, or ``int``."""
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for name in kind._fields:
        hint = hints[name]
        if get_origin(hint) is Annotated:
            hint = get_args(hint)[1]._replace(name=name)
        found.append((name, hint))
    return tuple(found)


@cache
def sections_of(kind: Any) -> tuple[Section, ...]:
    """Return all sections that a kind keeps, in the order in which they lie in the block."""
    return tuple(what for _, what in fields_of(kind) if isinstance(what, Section))


@cache
def flat_sections_of(kind: Any) -> tuple[tuple[Section, tuple[int | str, ...]], ...]:
    """Return all sections that a kind keeps, each with its dimensions by themselves."""
    return tuple((section, section.flat_dimensions) for section in sections_of(kind))


@cache
def own_sizes(kind: Any) -> dict[str, int]:
    """Return the columns of the plan that hold a kind's own sizes and choices, by name."""
    named: dict[str, None] = {}
    for name, what in fields_of(kind):
        sizes = what.flat_dimensions if isinstance(what, Section) else (name,)
        named |= {size: None for size in sizes if isinstance(size, str)}
    own = [name for name in named if name not in MODEL_COLUMNS | MEMBER_COLUMNS]
    assert OWN + len(own) <= FIRST_SECTION, f"{kind.__name__} has more sizes than the plan"
    return {name: OWN + i for i, name in enumerate(own)}


def views(kind: Any, state: Array, scratch: Array, plan: Array, member: int) -> Any:
    """Return a member's sizes and sections as such a tuple; member 0 is the model itself."""
    columns = own_sizes(kind)

    def size(name: int | str) -> int:
        if not isinstance(name, str):
            return name
        if name in MEMBER_COLUMNS:
            return int(plan[member, MEMBER_COLUMNS[name]])
        if name in MODEL_COLUMNS:
            return int(plan[0, MODEL_COLUMNS[name]])
        return int(plan[member, columns[name]])

    starts = iter(plan[member, FIRST_SECTION:])
    values: list[Any] = []
    for name, what in fields_of(kind):
        if what is int:
            values.append(size(name))
            continue
        shape = tuple(
            prod(map(size, d)) if isinstance(d, tuple) else size(d) for d in what.dimensions
        )
        block = state if what.where == "state" else scratch
        values.append(VIEWS[what.type].of(block, int(next(starts)), shape))
    return kind(*values)


@cache
def _tuple_type(kind: Any) -> Any:
    typed = [
        types.int64
        if what is int
        else types.Array(VIEWS[what.type].dtype, len(what.dimensions), "C")
        for _, what in fields_of(kind)
    ]
    return types.NamedTuple(typed, kind)


@type_callable(views)
def _type_views(context: Any) -> Callable[..., Any]:
    def typed(kind: Any, state: Any, scratch: Any, plan: Any, member: Any) -> Any:
        return _tuple_type(kind.instance_class)

    return typed


@lower_builtin(views, types.NamedTupleClass, types.Array, types.Array, types.Array, types.Any)
def _lower_views(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write down the loads and additions that find a member's part of the block."""
    kind = signature.args[0].instance_class
    blocks = {
        name: target.make_array(signature.args[i])(target, builder, arguments[i]).data
        for i, name in ((1, "state"), (2, "scratch"))
    }
    plan = target.make_array(signature.args[3])(target, builder, arguments[3])
    n_columns = cgutils.unpack_tuple(builder, plan.shape)[1]
    row = target.cast(builder, arguments[4], signature.args[4], types.intp)
    own_row = builder.gep(plan.data, [builder.mul(row, n_columns)])
    columns = own_sizes(kind)
    loaded: dict[str, Any] = {}

    def size(name: int | str) -> Any:
        if not isinstance(name, str):
            return target.get_constant(types.intp, name)
        if name not in loaded:
            if name in MODEL_COLUMNS and name not in MEMBER_COLUMNS:
                place = builder.gep(plan.data, [cgutils.intp_t(MODEL_COLUMNS[name])])
            else:
                column = MEMBER_COLUMNS[name] if name in MEMBER_COLUMNS else columns[name]
                place = builder.gep(own_row, [cgutils.intp_t(column)])
            loaded[name] = builder.load(place)
        return loaded[name]

    def extent(dimension: Dimension) -> Any:
        if not isinstance(dimension, tuple):
            return size(dimension)
        total = size(dimension[0])
        for name in dimension[1:]:
            total = builder.mul(total, size(name))
        return total

    values: list[Any] = []
    section = FIRST_SECTION
    returned = signature.return_type
    for (name, what), typed in zip(fields_of(kind), returned.types, strict=True):
        if what is int:
            values.append(size(name))
            continue
        start = builder.load(builder.gep(own_row, [cgutils.intp_t(section)]))
        place = builder.gep(blocks[what.where], [start])
        shape = [extent(dimension) for dimension in what.dimensions]
        values.append(array_at(target, builder, typed, place, shape))
        section += 1
    return target.make_tuple(builder, returned, values)
