"""The mutants of tests/mutants (its README.md has the format), and their table docs/MUTANTS.md."""
import pathlib
import re

FINDERS = {"explore": "explorer", "test": "tests", "sim": "simulator"}    # key: name in the table
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*$")
TABLE = "docs/MUTANTS.md"
SIM_SEEDS = 10000       # runs of each simulated scenario

TABLE_HEAD = """# Which tool finds which mutant

`tools/mutants --table` writes this file from `tests/mutants`; do not edit it. A mutant is the code
with one deliberate bug. Each row names the bug and the tools that must find it.

- **explorer**: `weft-explore` runs every execution of these small scenarios under the memory model
  of C11. `NAME*` means all scenarios that begin so.
- **tests**: these unit and flow tests, built with gcc.
- **simulator**: `weft-sim` runs these scenarios with {seeds} seeds each.

`tools/mutants` plants the mutants and runs the tools of each row. It fails if one of these tools
does not find its mutant. Where a tool has several scenarios or tests, one of them must find it.
`make check` plants a twelfth of the mutants, another twelfth with each commit, and `make mutants`
plants all of them. `tools/check-mutants` proves in each check that every mutant still fits the
sources and that this table is complete.

A row is a demand, not the record of a run: planting the mutant proves it. A tool that a row does
not name may find the mutant too. `tools/mutants --tsan` also runs the tests of a mutant under
ThreadSanitizer. Chance decides what that finds, so no row names it.

Many mutants weaken the order of a load or of a store. The processors of the x86 family keep loads
in order and stores in order, so tests cannot find such a bug there. The bug is real on 64-bit ARM.
The explorer finds it on every machine. The simulator lets a relaxed store overtake other stores,
but keeps loads in order.

Two mutants (`ring-push-head-relaxed`, `ring-batch-head-relaxed`) need a load that reads a later
store, which no tool here can produce. The explorer finds them by the missing happens-before edge
between a claimed copy and the store that overwrites it (`w_explore_claimed`).
"""


class Malformed(Exception):
    def __init__(self, path, line, text):
        super().__init__(text)
        self.path, self.line = path, line


class Mutant:
    def __init__(self, top, listed, line, name):
        self.top, self.listed, self.line, self.name = top, listed, line, name
        self.file = top / "src" / listed.relative_to(top / "tests/mutants").with_suffix("")
        self.what, self.finders, self.edits = None, {}, []

    def malformed(self, text):
        return Malformed(self.listed, self.line, f"{self.name}: {text}")

    def set(self, key, value):
        if key != "what" and key not in FINDERS:
            raise self.malformed(f"unknown key {key!r}")
        if not value or (self.what if key == "what" else key in self.finders):
            raise self.malformed(f"{key!r} is empty or occurs twice")
        if key == "what":
            self.what = value
        else:
            self.finders[key] = value.split()

    def check(self):
        """Is it complete, and does it fit its source file?"""
        if not NAME.match(self.name):
            raise self.malformed("a name is words of a-z and 0-9 with - between them")
        if not self.what or not self.finders or not self.edits:
            raise self.malformed("lacks " + ("'what'" if not self.what else "an edit"
                                             if not self.edits else "a tool that finds it"))
        for test in self.finders.get("test", []):
            if not (self.top / "tests" / test).exists():
                raise self.malformed(f"no file tests/{test}")
        self.mistaken()

    def mistaken(self):
        """The text of its file with the mistake in it."""
        text = self.file.read_text()
        for old, new in self.edits:
            # A fragment of a line is written with its line end, as everything between the marks.
            if text.count(old) != 1:
                old, new = old.rstrip("\n"), new.rstrip("\n")
            if old == new or not old or text.count(old) != 1:
                raise self.malformed(
                    f"the old text occurs {text.count(old)} times in "
                    f"{self.file.relative_to(self.top)}:\n{old}" if old and old != new else
                    "an edit changes nothing, or has no old text")
            text = text.replace(old, new)
        return text


def read_edit(lines, at, mutant):
    """The edit whose <<<< is line `at`: (old, new), and the index behind its >>>>."""
    try:
        middle = lines.index("====", at)
        end = lines.index(">>>>", middle)
    except ValueError:
        raise Malformed(mutant.listed, at + 1, f"{mutant.name}: no ==== or no >>>>") from None
    return tuple("".join(f"{line}\n" for line in part)
                 for part in (lines[at + 1:middle], lines[middle + 1:end])), end + 1


def read_file(top, path):
    """The mutants of one .mut file."""
    lines, at, found = path.read_text().split("\n"), 0, []
    while at < len(lines):
        line = lines[at]
        if line.startswith("== "):
            found.append(Mutant(top, path, at + 1, line[3:].strip()))
        elif line and not line.startswith("#"):
            if not found:
                raise Malformed(path, at + 1, "text before the first ==")
            if line == "<<<<":
                edit, at = read_edit(lines, at, found[-1])
                found[-1].edits.append(edit)
                continue
            key, _, value = line.partition(" ")
            found[-1].set(key, value.strip())
        at += 1
    return found


def read(top):
    """(all well-formed mutants, the complaints about the others)."""
    mutants, bad, names = [], [], {}
    for path in sorted((top / "tests/mutants").rglob("*.mut")):
        source = pathlib.Path("src") / path.relative_to(top / "tests/mutants").with_suffix("")
        try:
            if not (top / source).is_file():
                raise Malformed(path, 1, f"no file {source}")
            found = read_file(top, path)
            if not found:
                raise Malformed(path, 1, "no mutant")
        except Malformed as why:
            bad.append(why)
            continue
        for m in found:
            try:
                if m.name in names:
                    raise m.malformed(f"the name occurs in {names[m.name]} too")
                names[m.name] = path.relative_to(top)
                m.check()
                mutants.append(m)
            except Malformed as why:
                bad.append(why)
    return mutants, bad


def table(mutants):
    text, file = TABLE_HEAD.format(seeds=SIM_SEEDS), None
    for m in mutants:
        if m.file != file:
            file = m.file
            text += f"\n## `{file.relative_to(m.top)}`\n\n" \
                    "| mutant | what is wrong | the tools that must find it |\n|---|---|---|\n"
        said = "; ".join(f"{tool}: " + " ".join(f"`{name}`" for name in m.finders[key])
                         for key, tool in FINDERS.items() if key in m.finders)
        text += f"| {m.name} | {m.what} | {said} |\n"
    counts = ", ".join(f"{tool} {sum(1 for m in mutants if key in m.finders)}"
                       for key, tool in FINDERS.items())
    return text + f"\n{len(mutants)} mutants; demanded of: {counts}.\n"


def rows(text):
    """The names of the mutants that a table lists."""
    return set(re.findall(r"^\| ([a-z0-9-]+) \| (?!what is wrong)", text, re.M))
