"""Style sheets as they are served: each page's in as few files as it links, without the comments."""

import re
from pathlib import Path

COMMENT = re.compile(r"/\*.*?\*/\n*", re.DOTALL)
"""A comment: for those who read the source, not for those who read the page."""
IMPORT = re.compile(r'@import "([^"]+)";\n')


def write_styles(folder: Path) -> None:
    """Put the sheets that others in `folder` import into those, in order, and take comments out of all.

    A sheet that only arrives after the one that names it is asked for late; together they come at once.
    """
    sheets = {path.name: COMMENT.sub("", path.read_text("utf-8")) for path in sorted(folder.glob("*.css"))}

    def whole(name: str) -> str:
        return IMPORT.sub(lambda found: whole(found[1]), sheets[name])

    imported = {name for text in sheets.values() for name in IMPORT.findall(text)}
    for name in sheets:
        if name in imported:
            (folder / name).unlink()
        else:
            (folder / name).write_text(whole(name), encoding="utf-8")
