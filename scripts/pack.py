"""Packs the simulator for the browser: modules that the page needs, words of its figures, profiles, recordings."""

import ast
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from .recordings import PACKED, pack_recordings

ROOT = Path(__file__).resolve().parent.parent


def browser_modules() -> list[Path]:
    """The files of `sim` that the page needs: `sim/page.py` and all that it imports, also inside functions."""
    found: set[Path] = set()
    todo = [ROOT / "sim" / "page.py"]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found.add(path)
        todo += _imports(path)
        todo += [package / "__init__.py" for package in path.parents if package.is_relative_to(ROOT / "sim")]
    return sorted(found)


def _imports(path: Path) -> Iterator[Path]:
    """Files of `sim` that a module names in its imports."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = path.parents[node.level - 1] if node.level else ROOT
        base = base.joinpath(*(node.module or "").split("."))
        for candidate in (base, *(base / alias.name for alias in node.names)):
            for file in (candidate.with_suffix(".py"), candidate / "__init__.py"):
                if file.is_relative_to(ROOT / "sim") and file.is_file():
                    yield file


def pack_simulator(target: Path, catalogs: Mapping[str, Mapping[str, str]]) -> None:
    """Write `sim.zip`, the same bytes for the same sources."""
    files = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in browser_modules()}
    for language, messages in catalogs.items():
        text = json.dumps(messages, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        files[f"sim/figures/catalog_{language}.json"] = text.encode()
    for path in sorted((ROOT / "sim" / "profiles").glob("*.json")):
        files[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    files[f"sim/figures/{PACKED}"] = pack_recordings(ROOT / "site" / "recordings")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, date_time=(2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, files[name])
