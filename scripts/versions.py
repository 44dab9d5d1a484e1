"""Addresses that never change what they give: files stand in a folder whose name is made from all their contents."""

import hashlib
from pathlib import Path

FOLDERS = {"assets": "assets/", "vendor": "vendor/"}
"""Folders of the site that get versions, and where they are without."""
DIGITS = 12
"""Hexadecimal digits of a version."""


def version_folders(out: Path) -> dict[str, str]:
    """Move the files of `FOLDERS` in the site `out` into folders with versions.

    Returns:
        Where they are then.
    """
    vendor = _seal(out / "vendor")
    for module in (out / "assets").glob("*.mjs"):
        text = module.read_text("utf-8")
        module.write_text(text.replace('"../vendor/', f'"../../vendor/{vendor}/'), encoding="utf-8")
    return {"assets": f"assets/{_seal(out / 'assets')}/", "vendor": f"vendor/{vendor}/"}


def _seal(folder: Path) -> str:
    """Move what is in `folder` into a folder in there that is named after it; returns that name."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    version = digest.hexdigest()[:DIGITS]
    files = list(folder.iterdir())
    (folder / version).mkdir()
    for path in files:
        path.rename(folder / version / path.name)
    return version
