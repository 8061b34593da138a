"""Reading C sources for the checks: files, comments apart from code, complaints."""
import pathlib
import re
import sys

COMMENT_OR_STRING = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def root():
    """The tree to check: the first argument, else the tree that contains this script."""
    if len(sys.argv) > 1:
        return pathlib.Path(sys.argv[1])
    return pathlib.Path(__file__).resolve().parent.parent


def files(top, *folders, suffixes=(".c", ".h", ".def", ".cpp")):
    for folder in folders:
        for path in sorted((top / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file():
                yield path


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def split(text):
    """(code, comments): two copies of the text with the same lines. Each has blanks in place of the
    other part."""
    code, comments, at = [], [], 0
    for match in COMMENT_OR_STRING.finditer(text):
        code.append(text[at:match.start()])
        comments.append(_blank(text[at:match.start()]))
        piece = match.group()
        is_comment = piece.startswith("/*") or piece.startswith("//")
        code.append(_blank(piece) if is_comment else re.sub(r"[^\n\"']", "_", piece))
        comments.append(piece if is_comment else _blank(piece))
        at = match.end()
    code.append(text[at:])
    comments.append(_blank(text[at:]))
    return "".join(code), "".join(comments)


class Complaints:
    def __init__(self, tool, top):
        self.tool, self.top, self.n = tool, top, 0

    def add(self, path, line, text):
        self.n += 1
        where = path.relative_to(self.top) if path.is_absolute() else path
        print(f"{where}:{line}: {text}")

    def finish(self, what, n_files):
        if not n_files:
            print(f"{self.tool}: found nothing to check in {self.top}")
            sys.exit(1)
        if self.n:
            print(f"{self.tool}: {self.n} complaints")
            sys.exit(1)
        print(f"{self.tool}: {what}")
