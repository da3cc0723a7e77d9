"""Calling a member's kernel by its address: each kind is compiled by itself.

A kernel is compiled, or loaded, when a model first has a member of its kind: nobody waits for kinds
that he does not use. The addresses stand in a model's scratch, which is never saved: they are those
of one process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from stream_llsvm.kernels.chunk import CHUNK, Chunk
from stream_llsvm.kernels.compile import Array
from stream_llsvm.kernels.plan import MEMBER_ROW


class Kernels(NamedTuple):
    """The compiled functions of a kind of member; ``members/base.py`` says what a kind is.

    ``together`` does what ``run`` does, to the bit, for many rows of many features that only want
    an answer.
    """

    run: Any
    together: Any = None


#: Which of them is meant: the row of a model's addresses.
RUN, TOGETHER = range(2)
_KINDS: list[Kernels] = []


def number_of(kernels: Kernels) -> int:
    """Return the number by which plans of this process know a kind."""
    if kernels not in _KINDS:
        _KINDS.append(kernels)
    return _KINDS.index(kernels)


# What each of them takes: the state, the scratch, the plan, which member, the chunk.
_doubles = types.float64[::1]
SIGNATURE = types.void(_doubles, _doubles, types.int64[:, ::1], types.int64, CHUNK)


@cache
def address_of(kernel: Any) -> int:
    """Compile a member's kernel, or load it; returns where it lies in this process, 0 for None."""
    if kernel is None:
        return 0
    compiled = kernel.get_compile_result(SIGNATURE)
    address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return address


def call(
    which: int,
    addresses: Array,
    state: Array,
    scratch: Array,
    plan: Array,
    member: int,
    chunk: Chunk,
) -> None:
    """Let a member's kernel, if it has that one, run over a chunk of rows."""
    kernel = _KINDS[plan[member, MEMBER_ROW.kind]][which]
    if kernel is not None:
        kernel(state, scratch, plan, member, chunk)


@intrinsic
def _call(
    context: Any, address: Any, state: Any, scratch: Any, plan: Any, member: Any, chunk: Any
) -> Any:
    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        convention = target.call_conv
        function = convention.get_function_type(types.none, SIGNATURE.args)
        there = builder.inttoptr(arguments[0], function.as_pointer())
        status, _ = convention.call_function(
            builder, there, types.none, SIGNATURE.args, arguments[1:]
        )
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return target.get_dummy_value()

    return types.void(types.int64, *SIGNATURE.args), generate


# Numba gives the typing context itself, which type checkers cannot know.
_there: Any = _call


@overload(call, strict=False, inline="always")
def _compiled_call(
    which: Any, addresses: Any, state: Any, scratch: Any, plan: Any, member: Any, chunk: Any
) -> Callable[..., Any]:
    def call_there(
        which: int,
        addresses: Array,
        state: Array,
        scratch: Array,
        plan: Array,
        member: int,
        chunk: Chunk,
    ) -> None:
        if addresses[which, member - 1] != 0:
            _there(addresses[which, member - 1], state, scratch, plan, member, chunk)

    return call_there
