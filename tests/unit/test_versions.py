"""Versions in addresses: another content, another address, and nothing else changes one."""

import re

import pytest

from scripts.serve import VERSIONED
from scripts.versions import version_folders


@pytest.fixture
def versions(tmp_path):
    """Versions of a small site, with other contents if asked."""
    numbers = iter(range(9))

    def make(**changed: str):
        out = tmp_path / str(next(numbers))
        files = {"page": ("assets/page.mjs", 'import "./b.mjs";\nimport "../vendor/a.js";'), "a": ("vendor/a.js", "1")}
        for key, (name, content) in files.items():
            (out / name).parent.mkdir(parents=True)
            (out / name).write_text(changed.get(key, content))
        return out, version_folders(out)

    return make


def test_modules_name_the_files_of_others_where_they_are(versions):
    out, folders = versions()
    assert re.fullmatch(r"assets/[0-9a-f]{12}/", folders["assets"])
    assert all(VERSIONED.fullmatch("/" + folder) for folder in folders.values())
    assert (out / folders["vendor"] / "a.js").read_text() == "1"
    page = (out / folders["assets"] / "page.mjs").read_text()
    assert page == f'import "./b.mjs";\nimport "../../{folders["vendor"]}a.js";'


def test_only_what_changed_gets_another_address(versions):
    before, again = versions()[1], versions()[1]
    assert again == before
    page, vendor = versions(page="changed")[1], versions(a="2")[1]
    assert page["assets"] != before["assets"]
    assert page["vendor"] == before["vendor"]
    # A page that names another address is another page.
    assert vendor["vendor"] != before["vendor"]
    assert vendor["assets"] != before["assets"]
