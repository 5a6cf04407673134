# SPDX-License-Identifier: Apache-2.0
"""Exact intervals from integer counts, the bootstrap of the arms' table, and sums: testbed/stats/*.h, testbed/postulate/sum.h."""
import ast, collections, functools, math, statistics
from fractions import Fraction

Figure = collections.namedtuple("Figure", "estimate low high achieved n")

@functools.lru_cache(None)
def rank_tail(n):
    """How many of the 2^n choices of signs give each signed-rank sum, up to half of the largest."""
    ways = [1] + [0] * (n * (n + 1) // 4)
    for rank in range(1, n + 1):
        for s in range(len(ways) - 1, rank - 1, -1):
            ways[s] += ways[s - rank]
    return ways

@functools.lru_cache(None)
def rank_sum_tail(m, n):
    """How many of the choices of m among m + n ranks give each rank sum: the coefficients of Gauss's binomial, up to the middle."""
    ways = [1] + [0] * (m * n // 2)
    for i in range(1, m + 1):
        for s in range(len(ways) - 1, n + i - 1, -1):
            ways[s] -= ways[s - n - i]
        for s in range(i, len(ways)):
            ways[s] += ways[s - i]
    return ways

@functools.lru_cache(None)
def ends(kind, sizes, confidence):
    """The largest k of which (k-th smallest, k-th largest) has the confidence, and what it has; (0, 0) if there is none."""
    ways, total = {"rank": lambda n: (rank_tail(n), 2 ** n), "sign": lambda n: ([math.comb(n, i) for i in range(n // 2)], 2 ** n),
                   "rank sum": lambda m, n: (rank_sum_tail(m, n), math.comb(m + n, m))}[kind](*sizes)
    k, achieved, below = 0, 0.0, 0
    for count in ways:
        below += count
        inside = (total - 2 * below) / total
        if inside < confidence:
            break
        k, achieved = k + 1, inside
    return k, achieved

def interval(kind, values, sizes, confidence):
    ordered, (k, achieved) = sorted(values), ends(kind, sizes, confidence)
    return Figure(statistics.median(ordered), ordered[k - 1] if k else None, ordered[-k] if k else None, achieved, min(sizes))

def of_logarithms(figure):
    return figure._replace(**{end: None if value is None else math.exp(value) for end, value in zip(Figure._fields[:3], figure)})

def logs(series):
    """One arm's values as they are; of two arms the logarithms of the first over the second, by round: a difference, as stats.h has
    it, so that what lies on a threshold lies on the same side."""
    return series[0] if len(series) == 1 else [math.log(b) - math.log(a) for b, a in zip(*series)]

def estimate(stat, series, confidence):
    d = logs(series)
    if stat == "median":
        return interval("sign", d, (len(d),), confidence)
    if stat == "median_ratio":
        return of_logarithms(interval("sign", d, (len(d),), confidence))
    return of_logarithms(interval("rank", [(d[i] + d[j]) / 2 for i in range(len(d)) for j in range(i + 1)], (len(d),), confidence))

def quantile(ordered, q):
    at = q * (len(ordered) - 1)
    below = int(at)
    return ordered[below] + (at - below) * (ordered[min(below + 1, len(ordered) - 1)] - ordered[below])

@functools.lru_cache(None)
def resampled(n):
    """2,000 resamples of n values, by splitmix64 from seed 1: between which two of the ordered values the median of each lies."""
    state, mask, pairs = 1, 2 ** 64 - 1, []
    for _ in range(2000):
        drawn = []
        for _ in range(n):
            state = state + 0x9e3779b97f4a7c15 & mask
            z = (state ^ state >> 30) * 0xbf58476d1ce4e5b9 & mask
            z = (z ^ z >> 27) * 0x94d049bb133111eb & mask
            drawn.append((z ^ z >> 31) % n)
        drawn.sort()
        pairs.append((drawn[(n - 1) // 2], drawn[n // 2]))
    return pairs

def rounded(value):
    return float(value) if value == math.floor(value) and abs(value) <= 2 ** 53 else float("%.12g" % value)

def sum_of(node):
    """Arithmetic, in fractions: so nothing is rounded but what floor() and ceil() take, and the end."""
    if isinstance(node, str):
        return rounded(sum_of(ast.parse(node, mode="eval").body))
    if isinstance(node, ast.Constant):
        return Fraction(repr(node.value))
    if isinstance(node, ast.UnaryOp):
        return -sum_of(node.operand)
    if isinstance(node, ast.Call):
        return Fraction({"floor": math.floor, "ceil": math.ceil}[node.func.id](rounded(sum_of(node.args[0]))))
    a, b = sum_of(node.left), sum_of(node.right)
    return a / b if isinstance(node.op, ast.Div) else {ast.Add: a + b, ast.Sub: a - b, ast.Mult: a * b}[type(node.op)]
