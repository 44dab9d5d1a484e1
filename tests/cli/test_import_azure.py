"""`import azure`: real rows, exact times, rows that cannot be used."""

import pytest

from sim.importers import FORMATS, detect
from sim.importers.azure import read

HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens"


def arrivals(*times: str) -> list[int]:
    imported = read([HEADER, *(f"{time},1,1" for time in times)])
    assert imported.left_out_total == 0
    return [request["arrival_us"] for request in imported.requests]


def test_sixty_real_rows(cli, azure):
    done = cli("import", "azure", azure)
    assert (done.status, done.err) == (0, "")
    (scenario,) = done.values
    assert scenario["name"] == "azure.first60"
    assert scenario["config"] == {
        "max_num_batched_tokens": 8192,
        "max_num_seqs": 256,
        "max_model_len": 32768,
        "num_gpu_blocks": 20000,
    }
    assert scenario["imported"] == {
        "format": "azure",
        "rows": 60,
        "left_out": [],
        "left_out_total": 0,
        "unknown": [],
        "removed": [],
        "series": {},
    }
    requests = scenario["requests"]
    assert len(requests) == 60
    # 18:15:46.6805900, 18:15:50.9951690 and 18:15:51.2224670
    assert requests[:3] == [
        {"id": "r0", "arrival_us": 0, "prompt_tokens": 374, "output_tokens": 44},
        {"id": "r1", "arrival_us": 4_314_579, "prompt_tokens": 396, "output_tokens": 109},
        {"id": "r2", "arrival_us": 4_541_877, "prompt_tokens": 879, "output_tokens": 55},
    ]


def test_rows(cli, azure):
    (scenario,) = cli("import", "azure", azure, "--rows", "2").values
    assert [request["id"] for request in scenario["requests"]] == ["r0", "r1"]
    assert scenario["imported"]["rows"] == 2


def test_standard_input_and_auto(cli, azure):
    named = cli("import", "azure", azure).values[0]
    (found,) = cli("import", "auto", "-", stdin=azure.read_bytes()).values
    assert found == named | {"name": "azure"}


def test_line_ends_bom_and_the_last_line(cli, azure):
    content = azure.read_bytes()
    assert content.endswith(b"\r\n")
    plain = cli("import", "azure", "-", stdin=content)
    assert cli("import", "azure", "-", stdin=content.removesuffix(b"\r\n")) == plain
    other = cli("import", "azure", "-", stdin=b"\xef\xbb\xbf" + content.replace(b"\r\n", b"\n") + b"\n\n")
    assert other == plain


def test_times_are_exact():
    assert arrivals("2023-11-16 18:15:46.6805900", "2023-11-16 18:15:46.6805909", "2023-11-16 18:15:46.6805910") == [
        0,
        0,
        1,
    ]
    assert arrivals("2023-11-16 18:15:46.9999999", "2023-11-16 18:15:47") == [0, 0]
    assert arrivals("2023-11-16 18:15:46.999999", "2023-11-16 18:15:47") == [0, 1]


def test_times_go_over_midnight_and_leap_days():
    assert arrivals("2023-12-31 23:59:59.5", "2024-01-01 00:00:00.25") == [0, 750_000]
    assert arrivals("2024-02-28 00:00:00", "2024-03-01 00:00:00") == [0, 2 * 86_400_000_000]


def test_times_with_a_zone():
    assert arrivals("2024-05-10 00:00:00.009930+00:00", "2024-05-10 02:00:00.009931+02:00") == [0, 1]


def test_rows_out_of_order_are_sorted_and_ties_keep_their_order():
    times = ("12:00:02", "12:00:01", "12:00:02", "12:00:00")
    imported = read([HEADER, *(f"2023-11-16 {time},{n},1" for n, time in enumerate(times, 1))])
    assert [(r["id"], r["arrival_us"], r["prompt_tokens"]) for r in imported.requests] == [
        ("r0", 0, 4),
        ("r1", 1_000_000, 2),
        ("r2", 2_000_000, 1),
        ("r3", 2_000_000, 3),
    ]


def test_columns_go_by_name():
    imported = read(["GeneratedTokens,user,TIMESTAMP,ContextTokens", "7,x,2023-11-16 12:00:00,5"])
    assert imported.requests == [{"id": "r0", "arrival_us": 0, "prompt_tokens": 5, "output_tokens": 7}]
    assert imported.unknown == ["user"]


BAD_ROWS = {
    "2023-11-16 12:00:00,0,5": "ContextTokens: 0 is not allowed, must be an integer from 1 to 10000000",
    "2023-11-16 12:00:00,5,-5": "GeneratedTokens: -5 is not allowed, must be an integer from 1 to 10000000",
    "2023-11-16 12:00:00,5,5.5": 'GeneratedTokens: "5.5" is not allowed, must be an integer from 1 to 10000000',
    "2023-11-16 12:00:00,,5": 'ContextTokens: "" is not allowed, must be an integer from 1 to 10000000',
    "2023-11-16 12:00:00,5": '2 columns in "2023-11-16 12:00:00,5", must be 3',
    "2023-11-16 12:00:00,5,5,5": '4 columns in "2023-11-16 12:00:00,5,5,5", must be 3',
    "soon,5,5": 'TIMESTAMP: "soon" is not allowed, must be a time such as 2023-11-16 18:15:46.6805900',
    "2023-02-29 12:00:00,5,5": 'TIMESTAMP: "2023-02-29 12:00:00" is not allowed, must be a time such as ',
    "2023-11-16 24:00:00,5,5": 'TIMESTAMP: "2023-11-16 24:00:00" is not allowed, must be a time such as ',
    '"2023-11-16 12:00:00,5,5': '"\\"2023-11-16 12:00:00,5,5" is not CSV',
    "2099-11-16 12:00:00,5,5": "TIMESTAMP: 2398377600000000 us after the first arrival, must be at most ",
}


@pytest.mark.parametrize(("row", "why"), BAD_ROWS.items())
def test_a_row_that_cannot_be_used(cli, row, why):
    content = f"{HEADER}\n2023-11-16 12:00:00,5,5\n{row}\n2023-11-16 12:00:01,6,6\n"
    done = cli("import", "azure", "-", stdin=content.encode())
    (scenario,) = done.values
    assert done.status == 0
    assert [request["prompt_tokens"] for request in scenario["requests"]] == [5, 6]
    imported = scenario["imported"]
    assert (imported["rows"], imported["left_out_total"], imported["left_out"][0]["line"]) == (3, 1, 3)
    assert imported["left_out"][0]["why"].startswith(why)
    assert done.err == f"batchloom: <stdin>:3: left out: {imported['left_out'][0]['why']}\n"


def test_a_row_that_is_not_utf_8(cli):
    rows = f"{HEADER}\n2023-11-16 12:00:00,5,\xff\n2023-11-16 12:00:00,5,6\n".encode("latin-1")
    done = cli("import", "azure", "-", stdin=rows)
    assert (done.status, len(done.values[0]["requests"])) == (0, 1)
    assert done.err.startswith("batchloom: <stdin>:2: left out: GeneratedTokens: ")


def test_many_bad_rows_are_counted(cli):
    rows = "".join(f"2023-11-16 12:00:00,0,{n}\n" for n in range(30))
    done = cli("import", "azure", "-", stdin=f"{HEADER}\n2023-11-16 12:00:00,5,5\n{rows}".encode())
    imported = done.values[0]["imported"]
    assert (imported["rows"], len(imported["left_out"]), imported["left_out_total"]) == (31, 20, 30)
    lines = done.err.splitlines()
    assert len(lines) == 21
    assert lines[-1] == "batchloom: <stdin>: 30 of 31 rows are left out"


def test_a_prompt_that_is_too_long_is_told_not_cut(cli):
    done = cli("import", "azure", "-", stdin=f"{HEADER}\n2023-11-16 12:00:00,40000,5\n".encode())
    assert done.values[0]["requests"][0]["prompt_tokens"] == 40000
    assert done.err.startswith("batchloom: <stdin>: request r0: prompt_tokens (40000) exceeds max_model_len (32768)")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", ": is empty, must begin with TIMESTAMP,ContextTokens,GeneratedTokens"),
        (b"\r\n", ": is empty, must begin with TIMESTAMP,ContextTokens,GeneratedTokens"),
        (
            b"TIMESTAMP,ContextTokens\n",
            ':1: "TIMESTAMP,ContextTokens" is no header, must name TIMESTAMP, ContextTokens',
        ),
        (b"\x1f\x8b\x08\x00\n", ":1: "),
        (HEADER.encode(), ": no row can be used, 0 were read"),
        (HEADER.encode() + b"\nx,1,1", ': no row can be used, 1 were read; line 2: TIMESTAMP: "x" is not allowed'),
    ],
    ids=["empty", "only a line end", "short header", "gzip", "only a header", "only bad rows"],
)
def test_nothing_to_import(cli, file, content, problem):
    path = file(content, "trace.csv")
    done = cli("import", "azure", path)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"batchloom: {path}{problem}")
    assert done.err.count("\n") == 1


def test_auto_names_what_it_knows(cli):
    done = cli("import", "auto", "-", stdin=b"a,b\n1,2\n")
    names = " or ".join(FORMATS)
    assert (done.status, done.err) == (2, f'batchloom: <stdin>: the format of "a,b" is not known, must be {names}\n')
    assert cli("import", "auto", "-").err == f"batchloom: <stdin>: is empty, must hold rows of {names}\n"


def test_every_format_is_detected_by_itself_and_listed(cli):
    assert detect(HEADER + "\r\n") is FORMATS["azure"]
    text = cli("import", "--help").out
    assert [name for name, importer in FORMATS.items() if f"  {name}" not in text or importer.help not in text] == []
