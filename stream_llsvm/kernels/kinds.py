"""The kinds of members: a kernel each, compiled by itself and called by its address.

A kernel is compiled, or loaded, when a model first has a member of its kind: nobody waits for kinds
that he does not use. The addresses stand in a model's scratch, which is never saved: they are those
of one process. A further kind of member is a number in state.py, a kernel and a line here.

A kind may have a second kernel, for many rows of many features that only want an answer; what it
says is what the first would say.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from stream_llsvm.kernels.budget import run as budget
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

# What each of them takes, from the state to the scores.
_floats, _doubles, _integers = types.float32[::1], types.float64[::1], types.int64[::1]
SIGNATURE = types.void(
    _doubles, _doubles, types.int64[:, ::1], types.int64, _floats, _integers, _integers, _integers,
    _doubles, types.boolean, types.float32[:, :, ::1],
)  # fmt: skip


@cache
def address_of(kind: int) -> int:
    """Compile a kind's kernel, or load it; returns where it lies in this process."""
    return _address(KERNELS[kind])


@cache
def address_together(kind: int) -> int:
    """Do the same for its second kernel; 0 if it has none."""
    return _address(TOGETHER[kind]) if kind in TOGETHER else 0


def _address(kernel: Any) -> int:
    compiled = kernel.get_compile_result(SIGNATURE)
    address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return address


def call(
    addresses: Array, state: Array, scratch: Array, plan: Array, member: int, z: Array, at: Array,
    starts: Array, labels: Array, importance: Array, scored: bool, scores: Array,
) -> None:  # fmt: skip
    """Run a member over a block of rows."""
    run = KERNELS[plan[member, KIND]]
    run(state, scratch, plan, member, z, at, starts, labels, importance, scored, scores)


@intrinsic
def _call(
    context: Any, address: Any, state: Any, scratch: Any, plan: Any, member: Any, z: Any, at: Any,
    starts: Any, labels: Any, importance: Any, scored: Any, scores: Any,
) -> Any:  # fmt: skip
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
    addresses: Any, state: Any, scratch: Any, plan: Any, member: Any, z: Any, at: Any, starts: Any,
    labels: Any, importance: Any, scored: Any, scores: Any,
) -> Callable[..., Any]:  # fmt: skip
    return lambda addresses, state, scratch, plan, member, z, at, starts, labels, importance, scored, scores: _there(  # noqa: E501
        addresses[member - 1], state, scratch, plan, member, z, at, starts, labels, importance,
        scored, scores,
    )  # fmt: skip
