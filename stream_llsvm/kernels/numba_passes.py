"""How numba comes from Python to LLVM's code, without what no kernel needs.

Private to numba as what ``inside_numba.py`` uses, and left alone by it where numba is not as
expected. Half of the time that compiling takes is numba's, in Python, and it grows with the number
of passes and with the code that they write down for LLVM, which then reads it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from numba.core import analysis, compiler_machinery, ir, lowering, typed_passes, untyped_passes

Lower: Any = lowering.Lower
Lowering: Any = getattr(typed_passes, "BaseNativeLowering", object)

_USED = {
    Lower: ("_find_singly_assigned_variable", "storevar", "delvar", "getvar", "_alloca_var"),
    Lowering: ("lowering_class", "run_pass"),
    compiler_machinery: ("PassManager", "register_pass"),
    analysis: ("compute_cfg_from_blocks", "must_use_alloca"),
    untyped_passes: (
        "TranslateByteCode", "FixupArgs", "IRProcessing", "DeadBranchPrune", "GenericRewrites",
        "ReconstructSSA",
    ),
    typed_passes: (
        "NopythonTypeInference", "PreLowerStripPhis", "InlineOverloads", "IRLegalization",
        "AnnotateTypes", "NoPythonBackend",
    ),
}  # fmt: skip
#: Whether numba has all that is used here.
AS_EXPECTED = all(hasattr(kind, name) for kind, names in _USED.items() for name in names)


class KernelLower(Lower):  # type: ignore[misc]
    """Numba's writer of LLVM's code, for functions that own no memory.

    Numba writes each variable that outlives a block into memory, reads the old value of all that
    is written, and clears all that is no longer used, so that references can be counted. Here
    nobody counts them, and what is assigned once is a value. LLVM would find out the same; but a
    member's state is one variable of hundreds of numbers.
    """

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables that are assigned once, before all that reads them."""
        blocks = self.func_ir.blocks
        assigned, read = defaultdict(list), defaultdict(set)
        for label, block in blocks.items():
            for statement in block.body:
                if isinstance(statement, ir.Assign):
                    assigned[statement.target.name].append(label)
                if not isinstance(statement, ir.Del):
                    for variable in statement.list_vars():
                        read[variable.name].add(label)
        before = analysis.compute_cfg_from_blocks(blocks).dominators()
        in_memory = analysis.must_use_alloca(blocks)
        self._singly_assigned_vars = {
            name
            for name, (first, *more) in assigned.items()
            if not more and name not in in_memory and all(first in before[b] for b in read[name])
        }
        self._blk_local_varmap: dict[str, Any] = {}

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Assign a variable; what it held before is nobody's concern."""
        self._alloca_var(name, self.typeof(name))
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """Do nothing: there is nothing to give back."""


class KernelLowering(Lowering):  # type: ignore[misc]
    """Numba's pass that writes LLVM's code."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> type[KernelLower]:
        """Who writes it."""
        return KernelLower


if AS_EXPECTED:
    compiler_machinery.register_pass(mutates_CFG=True, analysis_only=False)(KernelLowering)


def passes_of_kernels() -> Any:
    """Return numba's own passes in their order, each once.

    Without those for closures, ``with``, literals and sums of whole arrays.
    """
    untyped: Any = untyped_passes
    typed: Any = typed_passes
    chosen = (
        untyped.TranslateByteCode, untyped.FixupArgs, untyped.IRProcessing,
        untyped.DeadBranchPrune, untyped.GenericRewrites, untyped.ReconstructSSA,
        typed.NopythonTypeInference, typed.PreLowerStripPhis, typed.InlineOverloads,
        typed.IRLegalization, typed.AnnotateTypes, KernelLowering, typed.NoPythonBackend,
    )  # fmt: skip
    passes = compiler_machinery.PassManager("kernel")
    for one in chosen:
        passes.add_pass(one, one.__name__)
    passes.finalize()
    return passes
