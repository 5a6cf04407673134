# SPDX-License-Identifier: Apache-2.0
"""A second implementation of judging, which shares no code with testbed/judge. It recomputes every verdict and figure of sealed
logs from their samples and postulates, and compares them with each log's "sum" line and with the ledger, to 1e-9. Prints TAP.

    python3 recompute [LOG...]     all of logs/ by default; then the controls: what is altered must be found

It follows the words of judge/verdict.h, judge/gates.h, postulate/postulate.h, stats/*.h and record/*.h. So a difference is a fault
of the program, of those words, or of this file. Sentences (text, why, reason, claim) are not compared.
"""
import collections, copy, functools, glob, hashlib, itertools, json, math, os, statistics, sys, tempfile
import yaml
from predictions import (SURVIVED, FALSIFIED, OPEN, UNMEASURABLE, UNSTABLE, NOISE, BETWEEN, SAME, TIMES, Run, is_ratio, is_exact,
                         places, claim, prediction_of, predicted)
from stats import Figure, estimate, logs, quantile, resampled

PROOFS = (("allocated == freed", "allocated", "freed"), ("pushed == drained", "pushed", "drained"),
          ("touched == expected", "touched_bytes", "touched_bytes_expected"))
Log = collections.namedtuple("Log", "header samples after summary seal head lines")

# --- reading ---
def chain(path, chained=True):
    """The lines of a file as JSON, and the last hash: each is that of the hash before, of the rows since, and of its line."""
    entries, head, rows = [], bytes(32), b""
    for number, line in enumerate(open(path, "rb").read().splitlines(), 1):
        entries.append(json.loads(line))
        if line.startswith(b"["):
            rows += line + b"\n"
            continue
        body, _, tail = line.rpartition(b',"h":"')
        head, rows = hashlib.sha256(head + rows + body).digest(), b""
        if chained and tail.decode() != head.hex() + '"}':
            raise ValueError("%s:%d: the chain is broken" % (path, number))
    return entries, head.hex()

def sample_of(of, row):
    """A row of a log of version 2 as a sample: `of` has the paths of its values, [path, value] of members that are the same in all
    rows, and [path, "=", other] of those that are equal to one before them."""
    sample, values, told = {}, iter(row), {}
    for entry in of:
        path, *rest = entry if isinstance(entry, list) else (entry, next(values))
        value = told[path] = told[rest[1]] if len(rest) == 2 else rest[0]
        *folders, name = path.split(".")
        functools.reduce(lambda node, folder: node.setdefault(folder, {}), folders, sample)[name] = value
    return sample

def read_log(path, chained=True):
    entries, head = chain(path, chained)
    one = {entry["t"]: entry for entry in entries if isinstance(entry, dict) and entry["t"] not in ("s", "cols", "round")}
    shapes = {entry["shape"]: entry["of"] for entry in entries if isinstance(entry, dict) and entry["t"] == "cols"}
    samples = [sample_of(shapes[entry[0]], entry[1:]) if isinstance(entry, list) else entry
               for entry in entries if isinstance(entry, list) or entry["t"] == "s"]
    return Log(one["hdr"], samples, one.get("after"), one.get("sum"), one.get("seal"), head, len(entries))

def read_postulate(path):
    """The front matter, with all scalars as text: what YAML takes for a number or a truth is left to the grammar here."""
    whole = open(path, "rb").read()
    return dict(yaml.load(whole.split(b"\n---\n")[0], Loader=yaml.BaseLoader), sha256=hashlib.sha256(whole).hexdigest())

# --- gates and tables ---
def aa_table(run, confidence):
    """Every pair of arms with one contender, the later over the earlier."""
    keys, rows = list(run.names), []
    for cell, (y, x) in itertools.product(range(len(run.cells)), ((y, x) for i, y in enumerate(keys) for x in keys[:i])):
        series = run.times(cell, y, x) if run.names[x] == run.names[y] else None
        if series:
            f = estimate("hl_ratio", series, confidence)
            rows.append({"cell": run.cells[cell], "arms": y + "/" + x, "estimate": f.estimate, "low": f.low, "high": f.high,
                         "confidence": f.achieved or None})
    return rows

def noisy_cells(run, gate):
    """The cells in which a noise gate fails, all of them for a gate of the host. By rules 1 one is as bad as all."""
    every = set(range(len(run.cells)))
    if gate.startswith("aa_"):
        effects = [abs(v - 1) for p in run.predictions if is_ratio(p) and not is_exact(p) for v in claim(p)]
        band = max(0.01, min(effects, default=0) / 4)
        low, high, confidence = 1 - band, 1 + band, 0.99
        if gate == "aa_equivalent":
            high = 1 + float(run.postulate["design"]["aa_band"])
            low, confidence = 1 / high, 0.95
        rows = aa_table(run, confidence)
        return {run.cells.index(row["cell"]) for row in rows if row["low"] is None or not (
            low <= row["low"] and row["high"] <= high or gate.endswith("contains 1") and row["low"] <= 1 <= row["high"])
                } if rows else every or {None}
    if gate == "paired_spread":
        for place in (place for p in run.predictions if is_ratio(p) and p["metric"] in TIMES for place in places(run, p)):
            d = logs(run.times(*place)) if run.times(*place) else [0.0, 9.0]
            if len(d) > 1 and statistics.stdev(d) >= 0.1 or max(abs(each - statistics.median(d)) for each in d) >= math.log(1.5):
                return every
        return set()
    if gate == "throttle == 0":
        before, after = run.header.get("before"), (run.after or {}).get("counters")
        return set() if before and after and throttled(before["throttle"]) == throttled(after["throttle"]) else every or {None}
    findings = (run.header.get("doctor") or {}).get("findings", {})
    fit = findings and not any(f["decides"] and f["state"] in ("unfit", "unknown") for f in findings.values())
    return set() if fit else every or {None}

def throttled(node, key=""):
    return [n for k, v in sorted(node.items()) for n in throttled(v, k)] if isinstance(node, dict) else [node] * ("throttle" in key)

def gates_of(run):
    """The summary's rows, and the cells whose times are held back."""
    failed, held = collections.Counter(), set()
    for sample in run.samples:
        unequal = [gate for gate, left, right in PROOFS if sample[left] != sample[right]]
        failed.update(unequal[:1] or ["handles home"] * (not (sample["ran"] and sample["valid"])))
    proofs = [gate for gate, _, _ in PROOFS] + ["handles home"]
    rows = [{"gate": gate, "kind": "proof", "passed": not failed[gate]} for gate in proofs]
    for gate in (gate for gate in run.postulate["gates"] if gate not in proofs):
        bad = set() if run.emulated and gate != "throttle == 0" else noisy_cells(run, gate)
        held |= bad
        rows.append({"gate": gate, "kind": "noise", "passed": not bad})
    return rows, held

def arm_row(run, cell, arm):
    row = {"cell": run.cells[cell], "arm": arm, "n": len(run.placed[cell, arm])}
    found = run.series("time_ns", cell, arm)
    if not found:
        return dict(row, **dict.fromkeys(("median", "low", "high", "mad", "min", "outliers_mild", "outliers_severe")))
    times, middle = sorted(found[0]), statistics.median(found[0])
    medians = sorted((times[i] + times[j]) / 2 for i, j in resampled(len(times)))
    lower, upper = quantile(times, 0.25), quantile(times, 0.75)
    mild, severe = (sum(max(lower - t, t - upper) > far * (upper - lower) for t in times) for far in (1.5, 3))
    return dict(row, median=middle, low=quantile(medians, 0.025), high=quantile(medians, 0.975), min=times[0],
                mad=statistics.median(abs(t - middle) for t in times), outliers_mild=mild - severe, outliers_severe=severe)

def control(run):
    """The first arm with a delay put in, over the arm without; in the cell where it shows least."""
    for y, x in itertools.product(run.names, run.names):
        name, _, percent = run.names[y].partition("@delay:")
        if percent and run.names[x] == name and not run.emulated:
            found = [(series and estimate("hl_ratio", series, 0.95), run.cells[cell])
                     for cell in range(len(run.cells)) for series in [run.times(cell, y, x)]]
            least, cell = min(found, key=lambda each: each[0] and each[0].low or 0)
            seen = least or Figure(None, None, None, 0.0, 0)
            return {"percent": float(percent), "arms": y + "/" + x, "cell": cell, "estimate": seen.estimate, "low": seen.low,
                    "high": seen.high, "found": bool(seen.low and seen.low > 1)}
    return None

# --- the whole ---
def run_verdict(run, rows):
    counted = [row["verdict"] for row in rows if not row.get("gate")] or [row["verdict"] for row in rows]
    if any(row.get("gate") and row["verdict"] == FALSIFIED for row in rows):
        return "invalid"
    if FALSIFIED in counted:
        return FALSIFIED
    sets = ((each, {each}) for each in (SURVIVED, SAME, UNSTABLE, NOISE)), ((BETWEEN, {SURVIVED, BETWEEN}), (UNMEASURABLE, {
        SURVIVED, BETWEEN, UNMEASURABLE}))
    return next((verdict for verdict, of in itertools.chain(*sets) if set(counted) <= of), OPEN)

def summary(log, postulate):
    run = Run(log, postulate)
    gates, held = gates_of(run)
    failed = {gate["kind"] for gate in gates if not gate["passed"]}
    overall = (UNMEASURABLE if log.header["unmet"] is not None else "invalid" if "proof" in failed else
               "none (smoke)" if log.header["kind"] == "smoke" else NOISE if "noise" in failed and run.rules == 1 else None)
    rows = [predicted(run, p, overall, held) for p in run.predictions]
    arms = [arm_row(run, cell, key) for cell in range(len(run.cells)) for key in run.names if run.placed[cell, key]]
    return dict({"rounds": run.rounds, "blocks": run.blocks, "gates": gates, "predictions": rows,
                 "arms": [] if run.emulated else arms,
                 "aa": aa_table(run, 0.99 if run.rules == 1 else 0.95), "positive_control": control(run),
                 "verdict": overall or run_verdict(run, rows)}, **({"rules": run.rules} if run.rules > 1 else {}))

def differences(ours, theirs, counts, at=""):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = sorted((set(ours) | set(theirs)) - {"text", "why", "reason", "claim", "t", "h"})
        return [each for key in keys
                for each in differences(ours.get(key, "nothing"), theirs.get(key, "nothing"), counts, at + "." + key)]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [each for i, pair in enumerate(zip(ours, theirs)) for each in differences(*pair, counts, "%s[%d]" % (at, i))]
    number = all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in (ours, theirs))
    counts["figures" if number else "verdicts" if at.endswith("verdict") else "words"] += 1
    same = ours == theirs or number and math.isclose(ours, theirs, rel_tol=1e-9)
    return [] if same else ["%s: here %s, there %s" % (at, ours, theirs)]

def ledger_differences(path, log):
    """What the host's ledger says of this run when it was opened and when it was closed."""
    entries, _ = chain(os.path.join(os.path.dirname(os.path.dirname(path)), "ledger.jsonl"))
    said = {entry["t"]: entry for entry in entries if entry.get("run") == log.header["run"] and entry["t"] in ("open", "close")}
    ours = {"nonce": log.header["nonce"], "postulate_sha256": log.header["postulate"]["sha256"], "log_head": log.head,
            "log_lines": log.lines, "verdict": log.summary["verdict"], "status": log.seal["status"]}
    theirs = {key: (said["open"] if key in said["open"] else said["close"]).get(key) for key in ours}
    return differences(ours, theirs, collections.Counter(), "ledger")

def cut_off(path, log):
    """A log without a summary claims nothing: its run was cut off, and never closed in the ledger, or it was stopped."""
    entries, _ = chain(os.path.join(os.path.dirname(os.path.dirname(path)), "ledger.jsonl"))
    said = [entry["t"] for entry in entries if entry.get("run") == log.header["run"]]
    known = ["open"] if log.seal is None else ["open", "close"] if log.seal["status"] == "stopped" else None
    return [] if said == known else ["without summary or seal, and the ledger has %s" % ", ".join(said)]

def checked(path, counts):
    log = read_log(path)
    if log.summary is None or log.seal is None:
        return cut_off(path, log)
    postulate = read_postulate(log.header["postulate"]["path"])
    found = differences(summary(log, postulate), log.summary, counts) + ledger_differences(path, log)
    found += differences(postulate["sha256"], log.header["postulate"]["sha256"], collections.Counter(), "postulate")
    return found + differences(log.lines, log.seal["lines"], collections.Counter(), "seal.lines")

def controls(path):
    """What must be found: a sample with another time, a summary with another verdict, a log that lost its end, and a file with
    another byte."""
    log = read_log(path)
    postulate = read_postulate(log.header["postulate"]["path"])
    slower, lying = copy.deepcopy(log), copy.deepcopy(log)
    part = places(Run(log, postulate), prediction_of(postulate["predictions"][0]))[0]
    fastest = min((s for s in slower.samples if (s["cell"], s["arm"]) == part[:2]), key=lambda s: s["time_ns"])
    fastest.update({key: fastest[key] * 1.5 for key in ("time_ns", "time_rel") if fastest.get(key)})
    lying.summary["predictions"][0]["verdict"] = SURVIVED if log.summary["predictions"][0]["verdict"] != SURVIVED else FALSIFIED
    for name, altered in (("time", slower), ("verdict", lying)):
        found = differences(summary(altered, postulate), altered.summary, collections.Counter())
        yield "an altered %s is found" % name, any(each.startswith(".predictions[0]") for each in found)
    yield "a log that lost its end is found", bool(cut_off(path, log._replace(summary=None, seal=None)))
    with tempfile.NamedTemporaryFile() as file:
        file.write(open(path, "rb").read().replace(b"1", b"2", 1))
        file.flush()
        try:
            read_log(file.name)
            yield "an altered byte breaks the chain", False
        except ValueError as error:
            yield "an altered byte breaks the chain", "the chain is broken" in str(error)

def main():
    paths, counts, cases = sys.argv[1:] or sorted(glob.glob("logs/*/*/*.jsonl")), collections.Counter(), []
    for path in paths:
        found = checked(path, counts)
        cases.append(not found)
        print("%s - %s%s" % ("ok" if not found else "not ok", path, ": " + "; ".join(found[:3]) if found else ""))
    for name, good in controls(paths[0]):
        cases.append(good)
        print("%s - %s" % ("ok" if good else "not ok", name))
    print("# %d logs, %s" % (len(paths), ", ".join("%d %s" % (n, what) for what, n in sorted(counts.items()))))
    print("1..%d" % len(cases))
    return not all(cases)

sys.exit(main())
