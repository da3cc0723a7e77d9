"""Settings shared by all tests."""

import os

from hypothesis import settings

# No deadline: the first call of a kernel compiles it. On a build server the
# examples are the same in every run, so a red build can be repeated.
settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
