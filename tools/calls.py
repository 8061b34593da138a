"""Which file of src/ defines which function, and which file uses it; for check-layers."""
import re

import source

# A definition at the left margin: the line with the name, then "{" at the margin.
DEFINITION = re.compile(r"^[A-Za-z_][^\n;{}#=]*?\b(w_\w+|weft_\w+)\s*\([^;{}]*?\)\s*\n\{", re.M)
NAME = re.compile(r"\b(?:w|weft)_\w+\b")


def room_of(path, top):
    """The folder below src/: sched/queue, net, ... os/ is one room, and arch/ is one room."""
    parts = path.relative_to(top / "src").parts[:-1]
    return parts[0] if parts[:1] in (("os",), ("arch",)) else "/".join(parts[:2])


def read(top):
    """({function: room}, [(path, line, room, function)]): definitions, and uses in other rooms."""
    texts = {path: source.split(path.read_text())[0] for path in source.files(top, "src")
             if path.suffix in (".c", ".h")}
    home = {}
    for path, code in texts.items():
        for match in DEFINITION.finditer(code):
            home[match[1]] = room_of(path, top)
    uses = []
    for path, code in texts.items():
        room = room_of(path, top)
        for match in NAME.finditer(code):
            other = home.get(match[0])
            if other and other != room and is_use(code, match):
                uses.append((path, code[:match.start()].count("\n") + 1, room, match[0]))
    return home, uses


def is_use(code, match):
    """True if this is no declaration: a declaration begins at the left margin."""
    line = code.rfind("\n", 0, match.start()) + 1
    return code[line] in " \t"
