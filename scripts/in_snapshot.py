"""What Python does before its memory is written to a snapshot; run by `make_snapshot.mjs`, in Pyodide.

Files are not in a snapshot. So all of the simulator is imported here, and of the standard library what it and PyScript
use; `Library` fetches the rest when something asks for it.
"""

import gc
import importlib
import json
import pkgutil
import random
import sys
import zipimport
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

APP = "/lib/sim.zip"
PYSCRIPT = "/lib/pyscript.json"
LIBRARY = f"/lib/python{sys.version_info.major}{sys.version_info.minor}.zip"
EMPTY_ZIP = b"PK\5\6" + bytes(18)
FOR_START = (
    *("asyncio", "base64", "collections", "functools", "html", "importlib.metadata", "inspect", "io", "json", "os"),
    "pathlib",
)
"""What Pyodide and PyScript import while they start."""


class Library:
    """Finds modules of the standard library that the snapshot lacks: brings all of it, and then is not needed again."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The last finder that is asked; what no finder knows is missing."""
        if name.partition(".")[0] not in sys.stdlib_module_names:
            return None
        sys.meta_path.remove(cls)
        importlib.import_module("batchloom_boot").fetchLibrary()  # boot.mjs registers it after the start
        forget_files()
        return PathFinder.find_spec(name, path, target)


class Compiled:
    """Finds and loads PyScript's own package, compiled here from the files that it would write, not at every start.

    Args:
        tree: texts of modules by file name, and folders of such.
    """

    def __init__(self, tree: Mapping[str, Any]) -> None:
        self.codes: dict[str, CodeType] = {}
        self.packages: set[str] = set()
        self._compile(tree, "")

    def _compile(self, tree: Mapping[str, Any], package: str) -> None:
        for file, content in tree.items():
            name = f"{package}.{file.removesuffix('.py')}".strip(".")
            if not isinstance(content, str):
                self.packages.add(name)
                self._compile(content, name)
            elif file == "__init__.py":
                self.codes[package] = compile(content, f"{package}/{file}", "exec", dont_inherit=True)
            elif file.endswith(".py"):
                self.codes[name] = compile(content, f"{name}.py", "exec", dont_inherit=True)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the import system asks of a finder."""
        del path, target
        if name not in self.codes:
            return None
        return ModuleSpec(name, self, is_package=name in self.packages)  # type: ignore[arg-type] # a loader by its methods

    def create_module(self, spec: ModuleSpec) -> None:
        """The ordinary kind of module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        exec(self.codes[module.__name__], module.__dict__)  # noqa: S102 that is what a loader does


def forget_files() -> None:
    """Forgets what was read of folders and archives, in modules too: a traceback would look there for its lines."""
    archives = zipimport._zip_directory_cache  # type: ignore[attr-defined] # noqa: SLF001 there is no other way
    for contents in archives.values():
        contents.clear()
    archives.clear()
    sys.path_importer_cache.clear()
    importlib.invalidate_caches()


def warm() -> None:
    """Draws every figure once in every language, and answers one of the other questions."""
    from sim import page  # noqa: PLC0415 it is on the path only now
    from sim.figures import FIGURES  # noqa: PLC0415

    questions: list[dict[str, object]] = [
        {"do": "render", "figure": name, "language": language, "values": figure.defaults}
        for name, figure in FIGURES.items()
        for language in page.LANGUAGES
    ]
    requests = [{"id": "A", "prompt_tokens": 2, "output_tokens": 2}]
    questions += [{"do": "explain", "scenario": {"requests": requests}}, {"do": "onestep"}]
    for question in questions:
        answer = page.handle(json.dumps(question))
        if "result" not in json.loads(answer):
            raise RuntimeError(f"{question}: {answer}")


def prepare() -> None:
    """All of it."""
    sys.path.insert(0, APP)
    sys.dont_write_bytecode = True
    for name in FOR_START:
        importlib.import_module(name)
    for module in pkgutil.walk_packages([APP]):
        importlib.import_module(module.name)
    warm()
    random.seed(0)  # seeded by the system otherwise
    sys.path.remove(APP)
    sys.meta_path.append(Library)
    pyscript = Path(PYSCRIPT)
    sys.meta_path.insert(0, Compiled(json.loads(pyscript.read_text("utf-8"))))
    pyscript.unlink()
    for path in (APP, LIBRARY):
        Path(path).write_bytes(EMPTY_ZIP)
    forget_files()
    gc.collect()


prepare()
