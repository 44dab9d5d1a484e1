"""The project's rules for itself: what is pinned, what is promised, what may be imported, how long things are."""

import ast
import gzip
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import sim
from scripts.serve import Server

ROOT = Path(__file__).resolve().parent.parent
SIM = ROOT / "sim"
SOURCES = sorted([ROOT / "build.py", *(ROOT / "scripts").glob("*.py"), *SIM.rglob("*.py")])
LOCKS = (
    *("requirements.txt", "requirements-node.txt", "requirements-hardware.txt", "requirements-vllm-cpu.txt"),
    *("package.json", "package-lock.json"),
)
DOCUMENTS = ("README.md", "CONTRIBUTING.md")

MODULE_LINES = 400
FUNCTION_LINES = 40

NOT_IN_BROWSER = ("__main__", "cli", "sweep", "hardware", "recordings")
"""Parts of `sim` that the page never loads: they talk to a terminal, to files or to hardware."""

BROWSER_IMPORTS = {
    *("abc", "array", "bisect", "codecs", "collections", "contextlib", "copy", "csv", "dataclasses"),
    "difflib",
    *("enum", "functools", "gc"),
    *(
        "heapq",
        "html",
        "importlib",
        "io",
        "itertools",
        "json",
        "math",
        "operator",
        "re",
        "string",
        "textwrap",
        "types",
        "typing",
    ),
}
"""Nothing here knows a clock, chance or the environment. `importlib` is for reading what is packed with `sim`."""

HASH_ORDER = {"hash", "id"}
"""Built-in functions whose results differ from run to run."""


def run(*command: str | Path, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, **{"cwd": ROOT, **options})


def parts(path: Path) -> list[str]:
    """The module's name below `sim`, in parts: nothing for `sim/__init__.py` itself."""
    return [part for part in path.relative_to(SIM).with_suffix("").parts if part != "__init__"]


SIM_MODULES = {".".join(["sim", *parts(path)]): path for path in sorted(SIM.rglob("*.py"))}
BROWSER_MODULES = {name: path for name, path in SIM_MODULES.items() if not {*parts(path)[:1]} & {*NOT_IN_BROWSER}}


# --- what is pinned


@pytest.mark.parametrize("name", LOCKS)
def test_pins_name_no_address(name):
    text = (ROOT / name).read_text("utf-8")
    assert not re.search(r'://|"resolved"|--(extra-)?index|--find-links|--hash', text)


@pytest.mark.parametrize("name", [name for name in LOCKS if name.endswith(".txt")])
def test_requirements_are_exact(name):
    lines = (ROOT / name).read_text("utf-8").splitlines()
    requirements = [line for line in lines if line and not line.startswith("#")]
    assert requirements
    assert [line for line in requirements if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9.]*", line)] == []


def test_what_pyproject_asks_for_is_pinned():
    texts = [(ROOT / name).read_text("utf-8") for name in ("requirements.txt", "requirements-hardware.txt")]
    pinned = set(re.findall(r"^([a-z0-9-]+)==", "\n".join(texts), re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = {name for group in project["optional-dependencies"].values() for name in group}
    assert asked
    assert asked - pinned == set()
    assert project["dependencies"] == []


def test_npm_packages_are_exact_and_locked():
    asked = json.loads((ROOT / "package.json").read_text("utf-8"))["dependencies"]
    packages = json.loads((ROOT / "package-lock.json").read_text("utf-8"))["packages"]
    assert packages[""]["dependencies"] == asked
    assert {name: packages[f"node_modules/{name}"]["version"] for name in asked} == asked
    assert [name for name, package in packages.items() if name and "integrity" not in package] == []


def test_version_is_told_once():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dynamic"] == ["version"]
    assert f"\nversion: {sim.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(rf"^## {re.escape(sim.__version__)}\b", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)


# --- what is promised


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documented_targets_exist(name):
    named = set(re.findall(r"\bmake ([a-z]+)\b", "\n".join(code(name))))
    assert named
    assert named - make_targets() == set()


def test_help_lists_every_target():
    listed = set(re.findall(r"^make ([a-z]+)", run("make").stdout, re.MULTILINE))
    assert listed == make_targets()


def code(name: str) -> list[str]:
    """Every piece of code in a document: blocks and words in backquotes."""
    text = (ROOT / name).read_text("utf-8")
    return re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL)


def examples(name: str, language: str) -> list[str]:
    """A document's blocks of code in one language that use the simulator."""
    blocks = re.findall(rf"```{language}\n(.*?)```", (ROOT / name).read_text("utf-8"), re.DOTALL)
    return [block for block in blocks if "sim" in block]


@pytest.mark.parametrize("example", examples("README.md", "sh"))
def test_readme_commands_work(example, tmp_path):
    script = example.replace("python3", shlex.quote(sys.executable))
    done = run("sh", "-e", "-c", script, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) >= example.count("python3")


@pytest.mark.parametrize("example", examples("README.md", "python"))
def test_readme_python_works(example):
    done = run(sys.executable, "-c", example + "\nprint(trace.outcome)")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "finished\n")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_link_to_what_exists(name):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / name).read_text("utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []


def tracked_files() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = run("git", "ls-files", "-z").stdout.split("\0")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


@pytest.mark.parametrize(
    "pattern",
    [
        re.escape(str(ROOT) + os.sep),
        r"(?<![\w./}])/(tmp|root|home|work|Users)/",
        r"registry\.npmjs|\bpypi\.org|pythonhosted|deb\.debian",
    ],
)
def test_no_file_names_a_machine(pattern):
    found = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", "replace")
        found += [
            f"{path.relative_to(ROOT)}: {match[0]}" for match in re.finditer(pattern, text) if path != Path(__file__)
        ]
    assert found == []


# --- how long things are


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_modules_and_functions_are_short(path):
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= MODULE_LINES
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert {node.name: lines(node) for node in functions if lines(node) > FUNCTION_LINES} == {}


def lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function without its docstring."""
    count = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        count -= function.body[0].end_lineno - function.body[0].lineno + 1
    return count


# --- what may be imported


def imports(path: Path) -> Iterator[str]:
    """The modules that a module names, at its top or inside functions; relative ones begin with a dot."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


@pytest.mark.parametrize(
    "name",
    [name for name in SIM_MODULES if not name.startswith(("sim.hardware", "sim.sweep", "sim.recordings.calibrate"))],
)
def test_simulator_needs_only_the_standard_library(name):
    outside = {module for module in imports(SIM_MODULES[name]) if not module.startswith(".")}
    assert {module.split(".")[0] for module in outside} - sys.stdlib_module_names - {"sim"} == set()


@pytest.mark.parametrize("name", BROWSER_MODULES)
def test_browser_modules_know_no_clock_no_chance_no_files(name):
    tree = ast.parse(BROWSER_MODULES[name].read_bytes())
    outside = {module.split(".")[0] for module in imports(BROWSER_MODULES[name]) if not module.startswith(".")}
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert outside - BROWSER_IMPORTS == set()
    assert called & (HASH_ORDER | {"open", "input", "print", "eval", "exec"}) == set()


@pytest.mark.parametrize("name", BROWSER_MODULES)
def test_browser_modules_load_alone(name):
    """Without installed packages, and without any part of `sim` that the page does not have."""
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {name}\n"
        "print(*(module for module in sys.modules if module.split('.')[0] not in sys.stdlib_module_names))"
    )
    done = run(sys.executable, "-I", "-S", "-W", "error", "-c", program)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) - set(BROWSER_MODULES) - {"__main__"} == set()


def test_site_folder_is_no_package():
    assert list((ROOT / "site").rglob("__init__.py")) == []
    done = run(sys.executable, "-S", "-c", "import site; print(site.__file__)")
    assert Path(done.stdout.strip()).parent != ROOT / "site"
    assert done.stdout.strip().endswith("site.py")


# --- setup and server


def test_setup_names_a_python_that_is_missing():
    done = run("sh", "scripts/setup.sh", "packages", env={**os.environ, "PYTHON": "no-such-python"})
    assert done.returncode == 1
    assert done.stderr == "batchloom: there is no 'no-such-python': PYTHON must name Python 3.11 or newer\n"


def test_setup_refuses_an_old_python(tmp_path):
    old = tmp_path / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = run("sh", "scripts/setup.sh", "packages", env={**os.environ, "PYTHON": str(old)})
    assert done.returncode == 1
    assert re.fullmatch(r"batchloom: '.*' is not Python 3\.11 or newer, which is needed\n", done.stderr)


def test_port_in_use_is_one_line(tmp_path):
    (tmp_path / "index.html").write_text("<!doctype html>")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run(sys.executable, "scripts/serve.py", tmp_path, "--port", str(port))
    assert done.returncode == 1
    assert re.fullmatch(rf"batchloom: port {port} is in use: .* make serve PORT={port + 1}\n", done.stderr)


@pytest.fixture
def server(tmp_path) -> Iterator[str]:
    (tmp_path / "folder").mkdir()
    for name in ("module.mjs", "code.wasm", "page.html", "data.json"):
        (tmp_path / name).touch()
    with Server(tmp_path) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield running.url
        running.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("module.mjs", "text/javascript"),
        ("code.wasm", "application/wasm"),
        ("page.html", "text/html; charset=utf-8"),
        ("data.json", "application/json"),
    ],
)
def test_server_tells_the_type(server, name, kind):
    with urllib.request.urlopen(server + name) as answer:
        assert answer.headers["Content-Type"] == kind
        assert not {header.lower() for header in answer.headers if header.lower().startswith("cross-origin")}


def test_server_sends_what_was_packed_and_only_once(server, tmp_path):
    (tmp_path / "folder" / "index.html").write_text("plain")
    (tmp_path / "folder" / "index.html.gz").write_bytes(gzip.compress(b"plain"))
    for accepted, encoding in (("gzip, br", "gzip"), ("br", None)):
        request = urllib.request.Request(server + "folder/", headers={"Accept-Encoding": accepted})
        with urllib.request.urlopen(request) as answer:
            body = answer.read()
            assert answer.headers["Content-Encoding"] == encoding
            assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
            assert (gzip.decompress(body) if encoding else body) == b"plain"
            request.add_header("If-None-Match", answer.headers["ETag"])
        with pytest.raises(urllib.error.HTTPError, match="304") as caught:
            urllib.request.urlopen(request)
        caught.value.close()


@pytest.mark.parametrize("name", ["folder/", "absent.html", "../conftest.py"])
def test_server_gives_no_more_than_files(server, name):
    with pytest.raises(urllib.error.HTTPError, match="404") as caught:
        urllib.request.urlopen(server + name)
    caught.value.close()
