"""Which packages are built; all else is said in pyproject.toml.

connectors/ lies at the top of the repository and is a subpackage when installed; the symlink
stream_llsvm/connectors shows a checkout the same, and is not there in a source distribution.
"""

from setuptools import find_packages, setup

PACKAGES = {
    *find_packages(include=["stream_llsvm", "stream_llsvm.*"]),
    *(f"stream_llsvm.{name}" for name in find_packages(include=["connectors", "connectors.*"])),
}

setup(packages=sorted(PACKAGES))
