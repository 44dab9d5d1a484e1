"""Style sheets as they are served."""

from scripts.styles import write_styles


def test_imported_sheets_stand_in_place_and_comments_are_gone(tmp_path):
    (tmp_path / "all.css").write_text('/* All. */\n\n@import "a.css";\n@import "b.css";\n\np { c: d }\n')
    (tmp_path / "a.css").write_text('@import "c.css";\n/* two\nlines */\na { }\n')
    (tmp_path / "b.css").write_text("b { } /* b */\n")
    (tmp_path / "c.css").write_text("c { }\n")
    (tmp_path / "own.css").write_text('@import "c.css";\n')
    write_styles(tmp_path)
    left = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert left == {"all.css": "c { }\na { }\nb { } \np { c: d }\n", "own.css": "c { }\n"}
