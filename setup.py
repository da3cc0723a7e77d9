"""Which packages are built, and for whom; all else is said in pyproject.toml.

connectors/ lies at the top of the repository and is a subpackage when installed; the symlink
stream_llsvm/connectors shows a checkout the same, and is not there in a source distribution.

After ``make kernels`` the package holds compiled kernels. A wheel of it is one for this Python,
this system and this architecture, and says so in its name. Elsewhere, or with another numba, the
kernels would be left aside and others compiled: they can do no harm, only no good.
"""

import platform
import sys
import sysconfig
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel

KERNELS = Path(__file__).parent / "stream_llsvm" / "kernels" / "shipped"

PACKAGES = {
    *find_packages(include=["stream_llsvm", "stream_llsvm.*"]),
    *(f"stream_llsvm.{name}" for name in find_packages(include=["connectors", "connectors.*"])),
}


class Wheel(bdist_wheel):
    """A wheel for everybody, or for who can use the compiled kernels in it."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return what stands in its name: Python, its interface to C, the system."""
        if not any(KERNELS.glob("*.nbc")):
            return super().get_tag()
        system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        if system.startswith("linux_") and platform.libc_ver()[0] == "glibc":
            # Kernels call nothing of it but mathematics; numba itself needs as much.
            system = system.replace("linux_", "manylinux_2_17_", 1)
        return f"cp{sys.version_info[0]}{sys.version_info[1]}", "none", system


setup(packages=sorted(PACKAGES), cmdclass={"bdist_wheel": Wheel})
