"""What lies where in Pegasos' plan and state."""

from __future__ import annotations

# The plan: sizes and choices, and from FIRST on where each section of the state begins.
WIDTH, COLUMNS, STANDARDIZE, LOSS, BATCH, PROJECT, FIRST = range(7)
# The state's first section: running figures and settings.
SEEN, STEPS, HELD, LOSS_AT_0, ENERGY, L2, EPSILON, T0 = range(8)
HEAD = 8
