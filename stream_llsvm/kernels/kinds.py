"""The kinds of members: a kernel each, compiled by itself and called by its address.

A kernel is compiled, or loaded, when a model first has a member of its kind: nobody waits for kinds
that he does not use. The addresses stand in a model's scratch, which is never saved: they are those
of one process. A further kind of member is a number in state.py, a kernel and a line here.

A kind may have a second kernel, for many rows of many features that only want an answer; what it
says is what the first would say. And it may have one for what others need of it while it sleeps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from stream_llsvm.kernels.budget import run as budget
from stream_llsvm.kernels.chunk import CHUNK, Chunk
from stream_llsvm.kernels.jit import Array
from stream_llsvm.kernels.landmarks import run as landmarks
from stream_llsvm.kernels.local import run as local
from stream_llsvm.kernels.members import additive, anchors, ferns, memory, prior, together, waves
from stream_llsvm.kernels.state import (
    ADDITIVE_KIND,
    ANCHORS_KIND,
    BUDGET_KIND,
    FERNS_KIND,
    KIND,
    LANDMARKS_KIND,
    LOCAL_KIND,
    MEMORY_KIND,
    PRIOR_KIND,
    WAVES_KIND,
)

KERNELS: dict[int, Any] = {
    ANCHORS_KIND: anchors.run,
    ADDITIVE_KIND: additive.run,
    MEMORY_KIND: memory.run,
    FERNS_KIND: ferns.run,
    PRIOR_KIND: prior.run,
    WAVES_KIND: waves.run,
    LOCAL_KIND: local.run,
    LANDMARKS_KIND: landmarks.run,
    BUDGET_KIND: budget.run,
}

TOGETHER: dict[int, Any] = {ANCHORS_KIND: together.run}
ASLEEP: dict[int, Any] = {MEMORY_KIND: memory.run_asleep}

# What each of them takes: the state, the scratch, the plan, which member, the chunk.
_doubles = types.float64[::1]
SIGNATURE = types.void(_doubles, _doubles, types.int64[:, ::1], types.int64, CHUNK)


@cache
def address_of(kind: int) -> int:
    """Compile a kind's kernel, or load it; returns where it lies in this process."""
    return _address(KERNELS[kind])


@cache
def address_together(kind: int) -> int:
    """Do the same for its second kernel; 0 if it has none."""
    return _address(TOGETHER[kind]) if kind in TOGETHER else 0


@cache
def address_asleep(kind: int) -> int:
    """Do the same for what it does while it sleeps; 0 if that is nothing."""
    return _address(ASLEEP[kind]) if kind in ASLEEP else 0


def _address(kernel: Any) -> int:
    compiled = kernel.get_compile_result(SIGNATURE)
    address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return address


#: A row of the addresses each: what a kind usually does, for rows together, and asleep.
USUAL, TOGETHER_ROW, ASLEEP_ROW = range(3)


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
    kernel = (KERNELS, TOGETHER, ASLEEP)[which].get(plan[member, KIND])
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
