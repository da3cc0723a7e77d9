"""How a kernel that only other kernels call is compiled: no further than they need it.

Numba would optimise each such kernel, make machine code of it for nobody, and do both once more in
each kernel that calls it. Here it is only typed and written down; optimising and machine code come
with the kernel that Python calls, which it becomes a part of. That is a third less of
compiling, and there is one copy of each part: with two, a process that has just compiled would
run the one and later processes, which load what was compiled, the other, and the two need not
agree to the last bit.
"""

from __future__ import annotations

from typing import Any

from numba.core import codegen, compiler

# Numba gives types to these that depend on its version.
JITCodeLibrary: Any = codegen.JITCodeLibrary
Compiler: Any = compiler.Compiler


class _NoEnvironment:
    """Stub for numba's code generator: what is only linked needs no Python environment."""

    @staticmethod
    def set_env(name: str, env: object) -> None:
        """Do nothing."""


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into its callers, and never run by itself."""

    _no_environment = _NoEnvironment()

    @property
    def codegen(self) -> Any:
        """What would make it callable from Python."""
        return self._no_environment

    def _optimize_final_module(self) -> None:
        """Leave that to the callers."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return no address: there is no machine code."""
        self._ensure_finalized()
        return 0


class _OutlinedPart(_Part):
    """A part that stays a function of its own in the kernels that call it."""

    def add_ir_module(self, module: Any) -> None:
        """Take the code, and ask LLVM to leave it where it is."""
        for function in module.functions:
            if not function.is_declaration and "alwaysinline" not in function.attributes:
                function.attributes.add("noinline")
        super().add_ir_module(module)


class PartCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, whose result is a part of other kernels."""

    _library = _Part

    def define_pipelines(self) -> Any:
        """Return numba's own passes, which put what they make where they are told to."""
        self.state.library = self._library(self.state.targetctx.codegen(), "part")
        return super().define_pipelines()


class OutlinedPartCompiler(PartCompiler):
    """The same for what stays out of line: its callers are smaller, and compile faster."""

    _library = _OutlinedPart
