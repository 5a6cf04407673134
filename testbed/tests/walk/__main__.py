# SPDX-License-Identifier: Apache-2.0
#
# walk PLACE LOCUS FOLDER: walks the table of commands in one place, and prints TAP. ../walk.sh makes the places. WALK=few: each kind
# of cell once a command, ONLY=word: commands with that word in their name.
#
# Commands, their words, options and forms are those that `locus --help` and `locus COMMAND --help` name, so a new command is walked
# without a line here. What stands here is what a kind of word looks like (THINGS) and which options make a run short (QUICK). A
# cell is one call, in a copy of FOLDER of its own; what is expected of it follows from rules:
#
#   answered   exit 0, or 1 with an answer; the form is well-formed; nothing but what was asked for is written, inputs stay as they are
#   refused    exit 1 or 2, one line on stderr that names the word or the option; nothing on stdout; no file is touched
#
# A file in the place of a word or an option is refused, or it is replaced: to be accepted in silence is neither.
import csv, hashlib, html.parser, io, json, os, re, shutil, stat, subprocess, sys, tempfile
import xml.etree.ElementTree as tree
from concurrent.futures import ThreadPoolExecutor

PLACE, LOCUS, FOLDER = sys.argv[1:4]
FEW, ONLY = os.environ.get("WALK") == "few", os.environ.get("ONLY", "")
CLONE = os.path.isdir(os.path.join(FOLDER, "postulates"))

THINGS = {  # a word of a usage: what may stand there; None: that usage is not run
    "TRACE": ["sample", "trace.csv"],
    "RUN": ["measured.jsonl", "run.jsonl", "bbbbbb"],
    "NNNN": ["0002"],
    "NNNN[/P2]": ["0002"],
    "ADDRESS": ["0002/P1"],
    "DRAFT": ["draft.md"],
    "SLUG": ["a-thing"],
    "CHECKPOINT": ["checkpoint"],
    "PACKET|FOLDER": ["packet.tar"],
    "CELL": ["cycle-256/byte"],
    "MODEL": ["tiny"],
    "ID": ["thp"],
    "COMMAND": None,  # of another machine
    "ARGUMENT": None,
}
QUICK = {  # an option: its value in a run that is short
    "quiet": None, "smoke": None, "no-run": None, "dry-run": None, "rounds": "1", "laps": "1", "steps": "1", "threads": "1",
    "requests": "20", "load": "all", "workload": "cycle-256", "dispatch": "inline", "kinds": "latency",
    "strategies": "paged,first-fit", "contenders": "locus,null",
}
OTHERWISE = [{}, {"rounds": False}, {"smoke": False}, {"no-run": False, "list": None}, {"contenders": "stock-plain"},
             {"contenders": False, "workload": False},
             {"contenders": False, "workload": False, "threads": False}]
DRAWN = [{}, {"kinds": "working-set"}, {"storm": None, "for": "1ms"}, {"rounds": "6"}]  # until there is something to draw
FORMS = {"json": "json", "csv": "csv", "markdown": "markdown", "plot": "svg"}
BAD = ["missing", "empty", "random", "folder"]
SECONDS = 120
FULL = ["/dev/full"] if os.path.exists("/dev/full") and stat.S_ISCHR(os.stat("/dev/full").st_mode) else []


# --- what the program says of itself -------------------------------------------------------------------------------------------

def said(*words):
    return subprocess.run([LOCUS, *words], cwd=FOLDER, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)


class Command:
    def __init__(self, name, starred):
        self.name, self.words, self.starred = name, name.split(), starred
        self.help = said(*self.words, "--help").stdout
        head = self.help.split("\n\n")[0]
        usage = re.match(r"Usage: (.*?\n)(?=\S)", self.help + "\nEND", re.S)
        text = re.sub(r"\s+", " ", usage.group(1) if usage else head)
        self.options = {m[1]: m[3] for m in re.finditer(r"\[--([a-z0-9-]+)(\[?=([^\[\]]*(?:\[[^\]]*\][^\[\]]*)?)\]?)?\]", text)}
        self.options = {name: value.rstrip("]") if value else None for name, value in self.options.items()}
        self.usages, self.full = [], []  # the second: those after which nothing may follow
        for one in text.split(" or: "):
            rest = re.sub(r"^.*\[--version\]|^ ?locus .*?\[OPTION\.\.\.\]", "", one).split()
            found = sorted(expanded(rest), key=len)
            self.usages += found
            self.full += [] if "..." in one else found[-1:]


def expanded(words):
    """Each word as it is, one that may be left out in both ways; of what may be repeated, one."""
    if not words:
        yield []
        return
    word = words[0]
    left_out = re.fullmatch(r"\[(.*?)\](\.\.\.)?", word)
    bare = left_out[1].removesuffix("...") if left_out else word.removesuffix("...")
    if bare.startswith("--") and "=" not in bare:  # an option that may stand among the words
        yield from expanded(words[1:])
        return
    for rest in expanded(words[1:]):
        if left_out:
            yield rest
        yield [bare, *rest]


def commands():
    for line in said("--help").stdout.splitlines():
        row = re.match(r"  ([a-z]+( [a-z]+)?)  +\S.*?( \*)?$", line)
        if row:
            yield Command(row[1], bool(row[3]))


# --- a call --------------------------------------------------------------------------------------------------------------------

def snapshot(folder):
    found = {}
    for base, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if f != ".git"]
        for name in [*(f for f in files if f != ".git"), *(f + "/" for f in folders)]:
            path = os.path.join(base, name)
            found[os.path.relpath(path, folder)] = (
                "" if name.endswith("/") else hashlib.sha256(open(path, "rb").read()).hexdigest())
    return found


BEFORE = snapshot(FOLDER)


class Call:
    """One call in a copy of the folder. `stdout`: a path, or None for closed."""

    def __init__(self, words, stdout=subprocess.PIPE, read=None):
        self.words = words
        folder = tempfile.mkdtemp(dir=os.environ["TMPDIR"])
        place = os.path.join(folder, "here")
        shutil.copytree(FOLDER, place, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        if CLONE:  # all copies have one history
            with open(os.path.join(place, ".git"), "w") as git:
                git.write("gitdir: %s/.git\n" % os.path.realpath(FOLDER))
        argv, out = [LOCUS, *words], stdout
        if stdout is None:
            argv, out = ["sh", "-c", 'exec "$@" >&-', "sh", *argv], subprocess.DEVNULL
        elif isinstance(stdout, str):
            out = open(stdout, "wb")
        try:
            done = subprocess.run(argv, cwd=place, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, timeout=SECONDS)
            self.status = done.returncode
            self.out, self.err = (done.stdout or b"").decode(errors="replace"), done.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired:
            self.status, self.out, self.err = "none after %d s" % SECONDS, "", ""
        after = snapshot(place)
        self.touched = sorted(p for p in BEFORE if after.get(p) != BEFORE[p])
        self.made = sorted(p for p in after if p not in BEFORE)
        path = os.path.join(place, read) if read else None
        self.file = open(path, "rb").read().decode(errors="replace") if path and os.path.isfile(path) else None
        shutil.rmtree(folder)

    def wrong(self, why):
        line = self.err.strip().splitlines()[-1] if self.err.strip() else "stderr is empty"
        return "%s: locus %s: exit %s, %s" % (why, " ".join(self.words), self.status, line)

    def refused(self, *names, strict=True):
        """None, or what keeps this from being a refusal that names one of these."""
        lines = self.err.splitlines()
        if self.status not in (1, 2):
            return self.wrong("not refused")
        if len(lines) != 1 or not lines[0].startswith("locus: "):
            return self.wrong("%d lines on stderr" % len(lines))
        if not any(name in lines[0][len("locus: "):] for name in names):
            return self.wrong("none of %s is named" % ", ".join(names))
        if self.out:
            return self.wrong("something on stdout")
        if strict and (self.touched or self.made):
            return self.wrong("it left %s" % ", ".join(self.touched + self.made))
        there = next((n for n in names if n in lines[0] and (n.rstrip("/") in BEFORE or n + "/" in BEFORE)), None)
        if there and "No such file" in lines[0]:
            return self.wrong("%s is there" % there)
        return None

    def answered(self, extra=()):
        """None, or why this is no answer. `extra`: files that it was asked for."""
        if self.status not in (0, 1) or (self.status == 1 and self.err and not self.out and self.file is None):
            return self.wrong("no answer")
        if any(not line.startswith("locus: ") for line in self.err.splitlines()):
            return self.wrong("stderr")
        return None


# --- forms ---------------------------------------------------------------------------------------------------------------------

def no_constant(word):
    raise ValueError(word + " is no JSON")


def read_json(text):
    value = json.loads(text, parse_constant=no_constant)
    if not isinstance(value, dict) or "head" not in value:
        raise ValueError("no object with a head")
    return sorted(value)


def read_csv(text):
    rows = list(csv.reader(io.StringIO(text), strict=True))
    if not rows or not all(rows[0]) or len(set(rows[0])) < len(rows[0]):
        raise ValueError("no head: %s" % rows[:1])
    for row in rows:
        if len(row) != len(rows[0]):
            raise ValueError("%d fields beside %d: %s" % (len(row), len(rows[0]), row))
    return rows[0]


def read_markdown(text):
    heads, block = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            block.append(len(re.findall(r"(?<!\\)\|", line)))
            heads += [re.sub(r" (ns|us|ms|s)(?= \|)", " time", line)] if len(block) == 1 else []  # the unit follows the times
            if len(block) == 2 and not re.fullmatch(r"\|( *:?-+:? *\|)+", line):
                raise ValueError("no rule below the head: %s" % line)
        else:
            if len(set(block)) > 1 or len(block) == 1:
                raise ValueError("a table of unequal rows: %s" % heads[-1])
            block = []
    if not text.strip():
        raise ValueError("empty")
    return heads


def read_svg(text):
    root = tree.fromstring(text)
    drawn = [e.tag.rpartition("}")[2] for e in root.iter()]
    if not root.tag.endswith("svg") or not {"path", "rect", "line", "circle", "polyline"} & set(drawn):
        raise ValueError("nothing is drawn")
    return [e.text for e in root.iter() if e.tag.endswith("title")][:1]


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br", "hr", "img", "input", "link", "path", "line", "rect", "circle", "polyline"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()


def read_file(text):
    """Of an option of its own: a page, a draft, an archive, a file of metrics."""
    if not text:
        raise ValueError("empty")
    if text.lstrip().lower().startswith("<!doctype html"):
        page = Page()
        page.feed(text)
        if [t for t in page.open if t in ("html", "body", "table", "svg", "section")]:
            raise ValueError("not closed: %s" % page.open[:3])
    elif text.startswith("<?xml"):
        tree.fromstring(text)
    return None


READERS = {"json": read_json, "csv": read_csv, "markdown": read_markdown, "svg": read_svg, "file": read_file}


def well_formed(call, form, text):
    if text is None:
        return call.wrong("nothing was written"), None
    try:
        return None, READERS[form](text)
    except Exception as error:
        return call.wrong("bad %s (%s)" % (form, error)), None


# --- the cells of a command ----------------------------------------------------------------------------------------------------

class Walk:
    def __init__(self, command):
        self.command, self.cells = command, {}
        self.works = dict.fromkeys([o for o in command.options if o in FORMS], False)
        self.forms_due = False

    def cell(self, group, fault):
        self.cells.setdefault(group, []).append(fault)

    def base(self, words, **changed):
        quick = {k: v for k, v in {**QUICK, **changed}.items() if v is not False and k in self.command.options}
        return [*self.command.words, *("--" + k if v is None else "--%s=%s" % (k, v) for k, v in quick.items()), *words]

    def first(self, words):
        """The short run that this usage accepts, and its call."""
        best = None
        for changed in OTHERWISE:
            argv = self.base(words, **changed)
            call = Call(argv)
            if best is None or str(call.status) < str(best[1].status):
                best, self.changed = (argv, call), changed
            if call.status == 0 or "clone of" in call.err:
                return (argv, call)
        return best

    def help(self):
        for word in ["--help"] if FEW else ["-h", "--help", "-?"]:
            call = Call([*self.command.words, word])
            bad = call.status or call.err or not call.out.startswith("Usage: locus %s " % self.command.name)
            wide = [line for line in call.out.splitlines() if len(line) > 80]
            self.cell("help", call.wrong("no help") if bad else call.wrong("wider than 80: " + wide[0]) if wide else None)
        self.ends("help", [*self.command.words, "--help"])
        for word in ["-h, -?, --help", "Exit status:"]:
            self.cell("help", None if word in self.command.help else "its help does not say '%s'" % word)
        call = Call([*self.command.words, "--version"])
        self.cell("help", None if re.fullmatch(r"locus \d+\.\d+\.\d+\n", call.out) else call.wrong("no version"))

    def words(self):
        words = self.command.words
        self.cell("words", Call([*words, "--no-such-option"]).refused("--no-such-option"))
        for option, value in self.command.options.items():
            if value:
                self.cell("words", Call([*words, "--%s=" % option]).refused("--%s: the value is empty" % option))
        if [] not in self.command.usages:
            self.cell("words", Call(words).refused("locus ", "clone of"))  # the remedy

    def usage(self, usage):
        if any(THINGS.get(word, "") is None or word.startswith("--") for word in usage):
            return
        unknown = [w for w in usage if w.upper() == w and w not in THINGS]
        if unknown:
            self.cell("words", "a usage has the word %s: say in THINGS what that is" % unknown[0])
            return
        choices = max([len(THINGS[w]) for w in usage if w in THINGS], default=1)
        answered = False
        for nth in range(choices):
            words = [THINGS[w][nth % len(THINGS[w])] if w in THINGS else w for w in usage]
            answered |= self.filled(usage, words, not answered)
            if FEW and answered and (choices == 1 or any(word in BEFORE for word in words)):
                break
        if not answered and (CLONE or not self.command.starred):
            self.cell("text", "locus %s: not answered" % " ".join([*self.command.words, *words]))

    def filled(self, usage, words, is_first):
        """Is it answered, or is what it lacks said?"""
        base, call = self.first(words)
        clone = self.command.starred and not CLONE and "clone of the project's repository" in call.err
        if clone or call.status == 2 or (call.status == 1 and not call.out):
            names = ["clone of"] if clone else [*words, self.command.name, "locus "]  # the last: a remedy
            said = not clone or "clone of the project's repository" in re.sub(r"\s+", " ", self.command.help)
            self.cell("text", call.refused(*names) or (None if said else "its help does not say that it is for a clone"))
            return clone or call.status == 1
        self.forms_due = True
        fault = call.answered()
        self.cell("text", fault or (None if call.out.strip() or call.made else call.wrong("it says nothing")))
        if usage in self.command.full:
            self.cell("words", Call([*base, "one-too-many"]).refused("one-too-many"))
        if call.out:
            self.ends("text", base)
        for form in self.works:
            self.form(form, base, words)
        for option, kind in self.command.options.items():
            if kind and option not in FORMS and re.search("FILE|FOLDER|DIR", kind) and is_first:
                self.file(option, kind, base, words, call)
        if is_first:
            self.arguments(usage, words)
        return True

    def ends(self, group, base):
        """Standard output that is full, or closed."""
        for stdout in FULL if FEW else [*FULL, None]:
            end = Call(base, stdout)
            self.cell(group, end.refused("standard output: ", strict=False))

    def form(self, form, base, words):
        kind, option = FORMS[form], "--" + form
        for drawn in DRAWN if form == "plot" else [{}]:
            base = self.base(words, **{**drawn, **self.changed}) if drawn else base
            to_file = Call([*base, "%s=out" % option], read="out")
            if "nothing to draw" not in to_file.err:
                break
        if "nothing to draw" in to_file.err and to_file.status == 1:
            self.works[form] |= "rounds" in self.command.options  # what is noisy has no figure
            self.cell(form, None if to_file.file is None else to_file.wrong("it left a file"))
            return
        if to_file.status == 2:  # it is for another usage
            self.cell(form, to_file.refused(option))
            return
        self.works[form] = True
        fault, shape = well_formed(to_file, kind, to_file.file)
        self.cell(form, to_file.answered() or fault)
        to_dash = Call([*base, option + "=-"])
        fault, dashed = well_formed(to_dash, kind, to_dash.out)
        self.cell(form, to_dash.answered() or fault or (to_dash.wrong("a file '-'") if "-" in to_dash.made else None))
        self.cell(form, None if shape == dashed else to_dash.wrong("file and standard output differ: %s %s" % (shape, dashed)))
        if form != "plot" and not FEW:
            printed = Call([*base, option])
            fault, shown = well_formed(printed, kind, printed.out)
            self.cell(form, printed.answered() or fault or (None if shown == shape else printed.wrong("another shape")))
        if not FEW:
            self.ends(form, [*base, option + "=-"])
        for bad in ["folder"] if FEW else ["none/out", "folder"]:
            self.cell(form, Call([*base, "%s=%s" % (option, bad)]).refused(bad))
        for word in words:
            if word in BEFORE:
                self.cell(form, Call([*base, "%s=%s" % (option, word)]).refused(word))

    def file(self, option, kind, base, words, call):
        group = "output" if option == "output" else "files"
        bads = ["random"] if FEW else ["empty", "random"]
        if "FILE" in kind and not FEW:  # a folder that is not there may come to be
            bads += ["none/x", "folder"]
        if "FILE" in kind:
            bads += [w for w in words if w in BEFORE]
        for bad in bads:
            given = Call([*base, "--%s=%s" % (option, bad)], read=bad)
            replaced = bad in given.touched or bad in given.made
            if given.status in (0, 1) and replaced and bad not in words:
                fault, _ = well_formed(given, "file", given.file)
                self.cell(group, given.answered() or fault)
            elif not given.touched + given.made and given.out and (given.status == 1 or "--" + option in given.err):
                self.cell(group, given.answered())  # it says what is wrong, or that there is nothing to write
            else:
                self.cell(group, given.refused(bad, "--" + option, *words))
        if option == "output":
            made = Call([*base, "--output=out"], read="out")
            fault = made.refused("--output") if made.status == 2 else made.answered() or well_formed(made, "file", made.file)[0]
            self.cell(group, fault)
            dash = Call([*base, "--output=-"])
            refused = dash.refused("--output", "-:")
            self.cell(group, dash.wrong("a file '-'") if "-" in dash.made else dash.answered() if dash.out else refused)

    def arguments(self, usage, words):
        for i, word in enumerate(usage):
            bads = [] if word == "SLUG" else BAD[:2 if FEW else None] if word in THINGS else ["nonsense"]  # a slug is any word
            for bad in bads:
                given = Call(self.base(words[:i] + [bad] + words[i + 1:], **self.changed))
                self.cell("arguments", given.refused(bad))

    def walk(self):
        self.help()
        self.words()
        for usage in self.command.usages:
            self.usage(usage)
        for form, works in self.works.items():
            if self.forms_due and CLONE:
                self.cell(form, None if works else "locus %s has --%s in its help, and in no usage" % (self.command.name, form))
        return self


# --- all of them ---------------------------------------------------------------------------------------------------------------

GROUPS = ["help", "words", "text", *FORMS, "output", "files", "arguments"]


def main():
    table, total = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["TMPDIR"] = scratch
        with ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count())) as pool:
            for walk in pool.map(lambda command: Walk(command).walk(), [c for c in commands() if ONLY in c.name]):
                for group in [g for g in GROUPS if g in walk.cells]:
                    faults = [fault for fault in walk.cells[group] if fault]
                    name = "%s: %s, %s: %d cells" % (PLACE, walk.command.name, group, len(walk.cells[group]))
                    print("not ok - %s, %d wrong: %s" % (name, len(faults), "; ".join(faults)) if faults else "ok - " + name)
                counts = [len(walk.cells.get(g, [])) for g in GROUPS]
                total += sum(counts)
                table.append("# %-18s" % walk.command.name + "".join("%10s" % (n or "-") for n in counts))
    print("# %-18s" % PLACE + "".join("%10s" % g for g in GROUPS), *table, "# %d commands, %d cells" % (len(table), total), sep="\n")


main()
