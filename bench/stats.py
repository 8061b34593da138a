"""Median, spread and the rule that decides whether a difference is real.

The rule: one side is called ahead only if the exact two-sided Mann-Whitney test over all runs gives
p < 0.01 and the medians differ by 5 % or more. With five runs a side, such a p needs every run of
one side to beat every run of the other (p = 2/252); more runs allow some overlap. The 5 % is there
because a difference can be steady and still mean nothing: the place where the linker put a loop is
enough. Everything else is "within noise", whatever the medians are.
"""
import collections
import math
import statistics

P_LIMIT, RATIO_LIMIT = 0.01, 0.05


def ranks_doubled(values):
    """Twice the rank of each value from 1 up; equal values share the mean of their ranks."""
    order = sorted(values)
    first = {v: i for i, v in reversed(list(enumerate(order)))}
    last = {v: i for i, v in enumerate(order)}
    return [first[v] + last[v] + 2 for v in values]


def mann_whitney_p(a, b):
    """Exact two-sided p: the share of all divisions of these ranks that are at least as uneven."""
    ranks = ranks_doubled(list(a) + list(b))
    ways = [collections.Counter() for _ in range(len(a) + 1)]   # ways[k]: sum -> choices of k ranks
    ways[0][0] = 1
    for rank in ranks:
        for k in range(len(a), 0, -1):
            for total, count in ways[k - 1].items():
                ways[k][total + rank] += count
    expected = len(a) * (len(ranks) + 1)
    distance = abs(sum(ranks[:len(a)]) - expected)
    extreme = sum(count for total, count in ways[len(a)].items()
                  if abs(total - expected) >= distance)
    return extreme / math.comb(len(ranks), len(a))


def ratio(values, reference):
    """The ratio of the medians; None if the median of the reference is zero."""
    below = statistics.median(reference)
    return statistics.median(values) / below if below else None


def verdict(values, reference, lower_is_better=True):
    """(p, "ahead", "behind" or "within noise") of values against the reference."""
    p = mann_whitney_p(values, reference)
    r = ratio(values, reference)
    if p >= P_LIMIT or r is None or abs(r - 1) < RATIO_LIMIT:
        return p, "within noise"
    return p, "ahead" if (r < 1) == lower_is_better else "behind"
