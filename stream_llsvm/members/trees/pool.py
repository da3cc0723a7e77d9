"""Adding up histograms of several models that lie at the same leaves of trees."""

from __future__ import annotations

from stream_llsvm.kernels.compile import Array, entry


@entry
def compare_histograms(
    slots: Array, asked: Array, bins: Array, sides: Array, slots_0: Array, asked_0: Array,
    bins_0: Array, sides_0: Array, alike: Array,
) -> None:  # fmt: skip
    """Say at which leaves a model's histogram counts the same as the other's does."""
    for t in range(slots.shape[0]):
        for i in range(slots.shape[1]):
            k, k_0 = slots[t, i], slots_0[t, i]
            same = k >= 0 and k_0 >= 0
            if same:
                for f in range(asked.shape[1]):
                    same &= asked[k, f] == asked_0[k_0, f]
                    same &= (
                        bins[k, f, 0] == bins_0[k_0, f, 0] and bins[k, f, 1] == bins_0[k_0, f, 1]
                    )
                for c in range(sides.shape[1]):
                    same &= sides[k, c] == sides_0[k_0, c]
            alike[t, i] = same


@entry
def add_histograms(shares: Array, slots: Array, sums: Array, own_slots: Array, own: Array) -> None:
    """Add a model's sums, as far as each of its leaves counts, to those of the merged one."""
    for t in range(slots.shape[0]):
        for i in range(slots.shape[1]):
            share = shares[t, i]
            if share == 0 or own_slots[t, i] < 0:
                continue
            mine, theirs = own[own_slots[t, i]], sums[slots[t, i]]
            for b in range(mine.shape[0]):
                for u in range(mine.shape[1]):
                    mine[b, u] += share * theirs[b, u]
