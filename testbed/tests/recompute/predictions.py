# SPDX-License-Identifier: Apache-2.0
"""One prediction: its parts, their figures, and what these say of the claim: judge/verdict.h, postulate/postulate.h, metric.h."""
import collections, fnmatch, math, statistics
from stats import Figure, estimate, interval, logs, rounded, sum_of

SURVIVED, FALSIFIED, OPEN, UNMEASURABLE = "survived", "falsified", "inconclusive", "unmeasurable-on-host"
UNSTABLE, NOISE, BETWEEN, SAME = "inconclusive (unstable)", "inconclusive (noise)", "in-between", "no-difference"
CLOCKED = {f"{call}_ns_{which}": (call, which + "_ns") for call in ("take", "push", "drain", "wait")
           for which in ("p50", "p99", "p999", "max")}
TIMES = ("time_ns", "time_ns_mean", "time_ns_p90", "wait_ns", *CLOCKED, "call_ns", "step_ns_p50", "step_ns_p99",
         "engine_tokens_per_s", "exchange_wait_ns", "step_weights_ratio", "step_kv_read_ratio", "step_kv_written_ratio",
         "step_rest_ratio", "step_engine_ratio", "step_bill_ratio", "step_beside_p50_ratio", "step_beside_p99_ratio",
         "ttft_p50_ns", "ttft_p99_ns",
         "room_p50_ns", "room_p99_ns", "room_p999_ns", "evict_p50_ns", "evict_p99_ns", "evict_range_ns", "pin_p50_ns", "pin_p99_ns", "unpin_p50_ns", "unpin_p99_ns",
         "pairs_per_s", "pair_ns")
HARDWARE = ("cycles", "instructions", "llc_misses", "dtlb_misses", "dram_local", "dram_remote")
SOFTWARE = ("page_faults", "cpu_migrations", "context_switches")
DECODE = ("remote_read_ratio", "remote_write_ratio")
ENGINE_COUNTED = ("kv_remote_ratio", "weights_remote_ratio", "kv_uneven_ratio", "kv_opened_bytes", "kv_cleared_bytes")
PEAKS = {"outstanding_ratio": "outstanding_high", "distinct_ratio": "distinct", "resident_ratio": "resident_blocks"}
EMULATED = {"instructions_per_block": "instructions", "locked_per_block": "locked", "failed_per_block": "failed"}
PLAIN = ("waits", "adjacency", "failed_per_block", "pins_refused", "remote_touch_ratio", "wandered_ratio", "abroad_free_ratio",
         *DECODE, *ENGINE_COUNTED, "kv_resident_bytes", "computed_tokens", *TIMES, *HARDWARE, *SOFTWARE, *PEAKS)
ESTIMATES = ("failed_per_block", "resident_ratio", "kv_resident_bytes", "computed_tokens", *TIMES, *HARDWARE)
Part = collections.namedtuple("Part", "cell over under figure verdict refuted slack more")

def prediction_of(front):
    stat, _, arms = front.get("stat", "sum").partition("(")
    over, under = arms.rstrip(")").split("/") if "/" in arms else (None, None)
    value = [float(v) for v in front["value"]] if front["op"] == "within" else float(front["value"])
    return dict({"metric": "sum", "cell": "", "arm": None, "unit": "number"}, **dict(
        front, stat=stat, over=over, under=under, value=value, order=arms.rstrip(")").split("<"), gate="gate" in front,
        asked=float(front.get("confidence", 0.95)), margin=float(front.get("margin", 0)), zone=float(front.get("zone", 0))))

class Run:
    def __init__(self, log, postulate):
        self.header, self.samples, self.after, self.postulate = log.header, log.samples, log.after, postulate
        self.predictions = [prediction_of(front) for front in postulate["predictions"]]
        self.emulated, self.rules = log.header.get("emulated"), int(postulate.get("rules", 1))
        self.cells = [cell.get("name", cell["workload"] + "/" + cell["touch"]) for cell in log.header["cells"]]
        self.names = {arm["key"]: arm["name"] for arm in log.header["arms"]}
        self.placed = collections.defaultdict(list)
        last = {(s["cell"], s["round"]): s.get("attempt", 0) for s in log.samples} # of a repeated round the last attempt counts
        for s in log.samples:
            if s.get("attempt", 0) == last[s["cell"], s["round"]]:
                self.placed[s["cell"], s["arm"]].append(s)
        self.rounds, self.blocks = (1 + max((s[what] for s in log.samples), default=-1) for what in ("round", "block"))

    def series(self, metric, cell, *arms, block=None):
        """Of each arm the values by round; None if it was not run, or a sample has none. Of two arms that took turns in one
        process, in every round, the times relative to that process's first arm; None, where one of them had company and they did not."""
        placed = [self.placed[cell, arm] for arm in arms]
        if metric == "time_ns" and len(arms) == 2:
            pairs = [(a.get("time_rel"), b.get("time_rel"), a.get("process") == b.get("process")) for a, b in zip(*placed)]
            if any(a or b for a, b, _ in pairs):
                if not all(a and b and same for a, b, same in pairs):
                    return None
                metric = "time_rel"
        found = [[value_of(metric, sample, self.header["cells"][cell]) for sample in samples
                  if block is None or sample["block"] == block] for samples in placed]
        return found if found[0] and not any(None in values for values in found) else None

    def two_cells(self, metric, cell, over, under_cell, under):
        found = self.series(metric, cell, over), self.series(metric, under_cell, under)
        return [found[0][0], found[1][0]] if all(found) and len(found[0][0]) == len(found[1][0]) else None

    def times(self, cell, *arms):
        found = None if self.emulated else self.series("time_ns", cell, *arms)
        return found if found and min(map(min, found)) > 0 else None

def value_of(metric, sample, cell):
    if not sample["valid"]:
        return None
    if metric in PEAKS:
        value = sample.get(PEAKS[metric])
        return None if value is None else value / cell["blocks_peak"]
    if metric in EMULATED:
        value = (sample.get("emulated") or {}).get(EMULATED[metric])
        return None if value is None else value / (cell["laps_metered"] * cell["blocks_per_lap"])
    if metric in DECODE:
        return (sample.get("decode") or {}).get(metric)
    if metric.startswith("step_ns_"):
        return (sample.get("decode") or {}).get("step_" + metric[len("step_ns_"):] + "_ns")
    if metric in CLOCKED:
        call, which = CLOCKED[metric]
        return (sample.get(call) or {}).get(which)
    if metric in HARDWARE + SOFTWARE:
        counter = sample.get("counters", {}).get(metric, {})
        whole = counter.get("value") is not None and counter["running_ns"] >= counter["enabled_ns"]
        return counter["value"] / cell["laps_metered"] if whole else None
    value = sample[metric] if metric in sample else {**(sample.get("serving") or {}), **(sample.get("engine") or {})}.get(metric)
    return None if value is None else float(value)

def is_ratio(p):
    return p["stat"] in ("hl_ratio", "median_ratio", "order")

def is_exact(p):
    """Ratios of what was decided in virtual time (by the serving scheduler), max, min, and medians of counts."""
    return p["metric"] not in PLAIN if is_ratio(p) else p["stat"] != "median" or p["metric"] not in ESTIMATES

def is_conjunction(p):
    return any(c in p["cell"] for c in "*?[") or p["stat"] == "order" or p["over"] == "*"

def places(run, p):
    """Cell, over and under of each part."""
    bare = {key: name if name.startswith("malloc:") else name.replace("+", "%").split("%")[0] for key, name in run.names.items()}
    rivals = [arm["key"] for arm in run.header["arms"] if arm.get("role") not in ("floor", "harness") and "@" not in arm["name"]]
    pairs = (list(zip(p["order"][1:], p["order"])) if p["stat"] == "order" else [(p["over"] or p["arm"], p["under"])] if
             p["over"] != "*" else [(key, p["under"]) for key in rivals if bare[key] != bare[p["under"]]])
    return [(i, *pair) for i, name in enumerate(run.cells) if fnmatch.fnmatchcase(name, p["cell"]) for pair in pairs]

def cells_of(run, p, place):
    """Those that a part's figure is from."""
    return [place[0]] + ([run.cells.index(p["cell_under"])] if "cell_under" in p else [])

def unmeasurable(run, p):
    if p["metric"] in HARDWARE + SOFTWARE:
        known = {c["name"]: c["why"] for c in (run.header.get("counters") or {}).get("counters", [])}
        return bool(run.emulated and p["metric"] in HARDWARE) or p["metric"] not in known or bool(known[p["metric"]])
    return bool(run.emulated) and p["metric"] in TIMES

def figure_of(run, p, place, confidence):
    """A part's figure, and what rules 2 say beside it."""
    cell, over, under = place
    if run.header["unmet"] is not None or unmeasurable(run, p) or confidence is None:
        return Figure(None, None, None, 0.0, 0), {}
    n, series = len(run.placed[cell, over]), (
        run.two_cells(p["metric"], cell, over, cells_of(run, p, place)[1], under) if "cell_under" in p else
        run.series(p["metric"], *place[:3 if under else 2]))
    if is_exact(p):
        fixed = p["metric"] not in PLAIN
        if not n:
            return Figure(None, None, None, 0.0, 0), {}
        if not series or fixed and any(len(set(values)) > 1 for values in series) or under and 0 in series[1]:
            return Figure(None, None, None, 1.0, n), {}
        one = series[0][0] / series[1][0] if under else {"max": max, "min": min, "median": statistics.median}[p["stat"]](series[0])
        return Figure(one, one, one, 1.0, n), {}
    if not series or under and min(map(min, series)) <= 0:
        return Figure(None, None, None, 0.0, n), {}
    figure = estimate(p["stat"], series, confidence)
    return (figure, {}) if run.rules == 1 else closer(p, series, confidence, figure)

def closer(p, series, confidence, figure):
    """Rules 2: an interval widened to hold those of both halves where they differ, and the sign interval."""
    half, more = len(series[0]) // 2, {}
    parts = [values[:half] for values in series], [values[half:] for values in series]
    first, second = (logs(part) if len(part) == 2 else [math.log(v) for v in part[0]] for part in parts)
    change = interval("rank sum", [b - a for a in first for b in second], (len(first), len(second)), 0.95) if half else None
    if change and change.low is not None and (change.low > 0 or change.high < 0):
        halves = [estimate(p["stat"], part, confidence) for part in parts]
        ranges = [figure, *halves]
        bounded = all(each.low is not None for each in ranges)
        figure = figure._replace(low=min(each.low for each in ranges) if bounded else None,
                                 high=max(each.high for each in ranges) if bounded else None)
        more["halves"] = [each.estimate for each in halves]
    if p["stat"] == "hl_ratio":
        more["sign"] = estimate("median_ratio", series, confidence)
    return figure, more

# --- claims ---
def side(p, value):
    """1: within the claim; 0: in its zone of indifference; -1: beyond."""
    claimed = p["value"]
    if {"within": lambda: claimed[0] <= value <= claimed[1], ">=": lambda: value >= claimed, ">": lambda: value > claimed,
            "<=": lambda: value <= claimed, "<": lambda: value < claimed, "==": lambda: value == claimed}[p["op"]]():
        return 1
    return 0 if p["zone"] and (value >= p["zone"] if p["zone"] < claimed else value <= p["zone"]) else -1

def place_of(p, figure):
    if figure.low is None:
        return OPEN
    low, high = side(p, figure.low), side(p, figure.high)
    straddles = p["op"] in ("within", "==") and low == high == -1 and not (
        figure.high < min(claim(p)) or figure.low > max(claim(p)))
    if low == high and not straddles:
        return {1: SURVIVED, 0: BETWEEN, -1: FALSIFIED}[low]
    return OPEN if {low, high} == {1, -1} or straddles else BETWEEN

def claim(p):
    return p["value"] if p["op"] == "within" else [p["value"]]

def judged(run, p, place, confidence, held):
    figure, more = figure_of(run, p, place, confidence)
    verdict, slack, seen, sign = place_of(p, figure), -math.inf, figure, more.get("sign")
    if seen.low is not None:
        slack = min(seen.low - min(claim(p)) if p["op"] not in ("<", "<=") else math.inf,
                    max(claim(p)) - seen.high if p["op"] not in (">", ">=") else math.inf)
        refuted = verdict == FALSIFIED
        same = p["op"] in ("within", "==") and min(claim(p)) <= 1 <= max(claim(p))
        if is_ratio(p) and p["margin"] and not same and 1 / (1 + p["margin"]) <= seen.low and seen.high <= 1 + p["margin"]:
            verdict = SAME
        if sign and {place_of(p, figure), place_of(p, sign)} == {SURVIVED, FALSIFIED}:
            verdict, refuted = OPEN, False
    else:
        refuted = False
    if "halves" in more and {side(p, each) for each in more["halves"]} == {1, -1}:
        verdict, refuted = UNSTABLE, False
    if run.rules > 1 and any(cell in held for cell in cells_of(run, p, place)) and p["metric"] in TIMES and not is_exact(p):
        verdict, refuted = NOISE, False
    if sign and figure.estimate is not None:
        ranges = [(0, math.inf) if each.low is None else (each.low, each.high) for each in (sign, figure)]
        excluded = any(not low <= each.estimate <= high for (low, high), each in zip(ranges, (figure, sign)))
        more["sign"] = {key: value for key, value in sign._asdict().items() if key != "n"}
        if not excluded:
            del more["sign"]
    return Part(*place, figure, verdict, refuted, slack, more)

def disagree(run, p):
    """Rules 1: in a part the last block of rounds has a ratio more than 5 % from, that is 1.05 times, that of every other block."""
    for cell, over, under in places(run, p) if is_ratio(p) and not is_exact(p) else ():
        blocks = [run.series(p["metric"], cell, over, under, block=block) for block in range(run.blocks)]
        if len(blocks) > 1 and None not in blocks and all(min(map(min, each)) > 0 for each in blocks):
            *before, last = [estimate(p["stat"], each, 0.5).estimate for each in blocks]
            if all(max(last / each, each / last) > 1.05 for each in before):
                return True
    return False

def joint(parts):
    verdicts = {part.verdict for part in parts}
    if verdicts == {SAME}:
        return SAME
    if any(part.refuted for part in parts):
        return FALSIFIED
    return next((each for each, of in ((SURVIVED, {SURVIVED}), (BETWEEN, {SURVIVED, BETWEEN})) if verdicts <= of),
                UNSTABLE if UNSTABLE in verdicts else NOISE if NOISE in verdicts else OPEN)

def confidence_of(run, p):
    """Bonferroni's share of what may go wrong, and of that the share of the look at which the run ended (looks.h)."""
    alpha = (1 - p["asked"]) / sum(not is_exact(each) and each["stat"] != "sum" for each in run.predictions)
    looks = run.header["design"].get("looks")
    if not looks or len(looks) == 1 and run.rounds in looks:
        return 1 - alpha
    spent = [0] + [alpha * math.log1p((math.e - 1) * look / looks[-1]) for look in looks]
    return 1 - (spent[looks.index(run.rounds) + 1] - spent[looks.index(run.rounds)]) if run.rounds in looks else None

def predicted(run, p, overall, held):
    row = {key: p[key] for key in ("id", "metric", "cell", "over", "under", "arm", "stat", "op", "value", "unit")}
    row.update({"cell_under": p["cell_under"]} if "cell_under" in p else {})
    row.update({"order": p["order"]} if p["stat"] == "order" else {}, **({"gate": True} if p["gate"] else {}))
    if p["stat"] == "sum":
        value = sum_of(p["sum"])
        there = dict(p, value=[rounded(v) for v in claim(p)] if p["op"] == "within" else rounded(p["value"]))
        return dict(row, confidence=1.0, estimate=value, low=value, high=value, achieved=1.0, n=0, parts=[],
                    verdict=overall or place_of(there, Figure(value, value, value, 1.0, 0)))
    confidence = 1.0 if is_exact(p) else confidence_of(run, p)
    parts = [judged(run, p, place, confidence, held) for place in places(run, p)]
    own = overall if overall not in (None, NOISE) else UNMEASURABLE if unmeasurable(run, p) else overall or (
        UNSTABLE if run.rules == 1 and disagree(run, p) else None)
    worst = min(parts, key=lambda part: (not part.refuted, part.verdict != OPEN, part.slack))
    shown, more = worst.figure, worst.more
    if is_conjunction(p) and run.rules > 1:
        shown, more = shown._replace(estimate=None, low=None, high=None), {}
    rows = [dict({"cell": run.cells[part.cell], "over": part.over, "verdict": own or part.verdict}, **part.more,
                 **{key: value for key, value in part.figure._asdict().items() if key != "n"},
                 **({"under": part.under} if p["stat"] == "order" else {})) for part in parts]
    return dict(row, confidence=confidence, **shown._asdict(), **more, parts=rows if is_conjunction(p) else [],
                verdict=own or joint(parts))
