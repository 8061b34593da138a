"""The lists of files in src/*.txt; cmake/manifest.cmake reads the same lists."""


def lines(path):
    """(line number, path or pattern below src/) of each line; a "!" in front is kept."""
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if line and not line.startswith("#"):
            yield number, line


def missing(path):
    """(line number, text) of each line that matches no file."""
    return [(number, line) for number, line in lines(path)
            if not any(path.parent.glob(line.removeprefix("!")))]


def files(path):
    """The files that the list names, in its order."""
    found = {}
    for _, line in lines(path):
        for file in sorted(path.parent.glob(line.removeprefix("!"))):
            if line.startswith("!"):
                found.pop(file, None)
            else:
                found[file] = True
    return list(found)
