"""What is private to numba and used here, all of it; where numba is not as expected, nothing is.

Two things cannot be had from what numba documents:

*The processor that is compiled for.* Numba compiles for the very machine. Kernels are compiled for
a level that nearly all machines of the last ten years have (``x86-64-v3``: AVX2 and FMA), so that
they can come with the package, and all machines learn the same to the bit. Only our kernels: what
else uses numba in the process stays as it is. ``STREAM_LLSVM_CPU=native`` compiles for the machine,
and numba's ``NUMBA_CPU_NAME`` is heard as ever.

*Parts.* Numba would optimise each kernel that only other kernels call, make machine code of it for
nobody, and do both once more in each kernel that calls it. Here it is only typed and written down;
optimising and machine code come with the kernel that Python calls, which it becomes a part of. That
is a third less of compiling, and there is one copy of each part: with two, a process that has just
compiled would run the one and later processes, which load what was compiled, the other, and the two
need not agree to the last bit.
"""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core import caching, codegen, compiler, config, cpu

from stream_llsvm.kernels import numba_passes

VARIABLE = "STREAM_LLSVM_CPU"
NATIVE = "native"

Config: Any = config
# Numba gives types to these that depend on its version.
Compiler: Any = compiler.Compiler
JITCPUCodegen: Any = getattr(codegen, "JITCPUCodegen", object)
JITCodeLibrary: Any = getattr(codegen, "JITCodeLibrary", object)
Cache: Any = getattr(caching, "_Cache", object)
Files: Any = getattr(caching, "IndexDataCacheFile", object)
Result: Any = compiler.CompileResult

_USED = {
    JITCPUCodegen: ("_get_host_cpu_name", "_get_host_cpu_features", "magic_tuple"),
    JITCodeLibrary: (
        "add_ir_module", "get_pointer_to_function", "_ensure_finalized", "_finalize_final_module",
        "_finalize_dynamic_globals", "_optimize_final_module", "_optimize_functions",
    ),
    cpu.CPUContext: ("subtarget", "refresh", "codegen"),
    Cache: ("load_overload", "save_overload", "cache_path", "enable", "disable", "flush"),
    Files: ("load", "save", "flush", "_load_index"),
    Result: ("_reduce", "_rebuild"),
}  # fmt: skip
#: Whether numba has all that is used here. If not, it compiles as it does, and nothing is kept.
AS_EXPECTED = numba_passes.AS_EXPECTED and all(
    hasattr(kind, name) for kind, names in _USED.items() for name in names
)

#: By architecture: the level's name, what LLVM calls it, and what a processor must have for it.
_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_LEVELS = {"x86_64": ("x86-64-v3", (*_V2, *_V3)), "aarch64": ("generic", ())}
_ALSO = {"amd64": "x86_64", "arm64": "aarch64"}


@cache
def level() -> str | None:
    """Return the level that kernels are compiled for; None: for what numba compiles for."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen not in ("", NATIVE):
        raise ValueError(f"{VARIABLE} is {chosen!r}; it can only be {NATIVE!r} or not set")
    if chosen == NATIVE or Config.CPU_NAME or Config.CPU_FEATURES:
        return None
    machine = platform.machine().lower()
    name, needed = _LEVELS.get(_ALSO.get(machine, machine), (None, ()))
    has = llvm.get_host_cpu_features()
    return name if all(has.get(one, False) for one in needed) else None


class LevelCodegen(JITCPUCodegen):  # type: ignore[misc]
    """Numba's maker of machine code, for a level."""

    def _get_host_cpu_name(self) -> str:
        return level() or str(super()._get_host_cpu_name())

    def _get_host_cpu_features(self) -> str:
        return "" if level() else str(super()._get_host_cpu_features())


@cache
def _codegen() -> Any:
    return LevelCodegen("stream_llsvm")


def _for_level(target: Any) -> Any:
    """Return numba's target with our maker of machine code; as numba does it ahead of time."""
    return target.subtarget(_internal_codegen=_codegen())


def processor() -> tuple[str, str, str]:
    """Return what is compiled for: the system, the processor and its features."""
    found: tuple[str, str, str] = _codegen().magic_tuple()
    return found


def user_cache_folder() -> Path:
    """Return where this user's programs keep what can be made again."""
    try:
        from numba.misc.appdirs import AppDirs
    except ImportError:
        return Path("~/.cache/stream_llsvm").expanduser()
    return Path(AppDirs(appname="stream_llsvm", appauthor=False).user_cache_dir)


class KernelCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, for the level."""

    def define_pipelines(self) -> Any:
        """Return the passes that kernels need."""
        if not AS_EXPECTED:
            return super().define_pipelines()
        self.state.targetctx = _for_level(self.state.targetctx)
        return [numba_passes.passes_of_kernels()]


def packed(compiled: Any) -> Any:
    """Return what can be written of a compiled kernel; without the text with all its types."""
    return tuple("" if isinstance(part, str) else part for part in compiled._reduce())


def unpacked(target: Any, written: Any) -> Any:
    """Return a compiled kernel as it was written; it can be called in numba's target."""
    target.refresh()
    return Result._rebuild(_for_level(target), *written)


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


class PartCompiler(KernelCompiler):
    """Numba's compiler, whose result is a part of other kernels."""

    _library = _Part

    def define_pipelines(self) -> Any:
        """Return the passes, which put what they make where they are told to."""
        passes = super().define_pipelines()
        if AS_EXPECTED:
            self.state.library = self._library(self.state.targetctx.codegen(), "part")
        return passes


class OutlinedPartCompiler(PartCompiler):
    """The same for what stays out of line: its callers are smaller, and compile faster."""

    _library = _OutlinedPart
