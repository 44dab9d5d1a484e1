"""`import serve-command`: commands out of Markdown, prose and terminals, and within documents."""

import pytest

from sim.errors import ConfigError
from sim.importers import read_file


def imported(text: str):
    return read_file("auto", text.splitlines(keepends=True))


LINE = "vllm serve M --max-num-seqs 8"
PASTED = [
    f"I started it with `{LINE}` and it hangs.",
    f"``{LINE}``",
    f"```{LINE}```",
    "```bash\n$ vllm serve M \\\n    --max-num-seqs 8\n```\nwhat's wrong?",
    f"### I don't know\n\n~~~\n{LINE}\n~~~\nIt's slow.",
    f"> I'd run:\n> ```\n> {LINE}\n> ```\n>> and?",
    "> vllm serve M \\\n> --max-num-seqs 8",
    f"1. `pip install vllm`\n2. `{LINE}`",
    f"<details>\n<summary>what I run</summary>\n\n```\n{LINE}\n```\n</details>",
    f"```\n{LINE}",
    "Run `vllm serve` with `--max-num-seqs 8`.",
    "`--max-num-seqs 8`",
    "`vllm serve M \\\n  --max-num-seqs 8`",
    "`docker run --gpus all vllm/vllm-openai:latest --model M --max-num-seqs 8`",
    "```yaml\nmodel: M\nmax-num-seqs: 8\n```",
    "Mine:\n```yaml\nservices:\n  a:\n    image: x/vllm\n    command: --model M --max-num-seqs 8\n```",
    f"# {LINE}",
    f"root@7f2:/vllm-workspace# {LINE}",
    f"[root@host ~]# {LINE}",
    f"(base) user@host ~/my dir % {LINE}",
    f"bash-5.1# {LINE}",
    f"(vllm) PS C:\\x> {LINE}",
    f"+ exec {LINE}",
    f"# vllm serve old --max-num-seqs 9\n{LINE}",
    LINE.replace(" ", "\u00a0"),
    "vllm serve M \u2013max-num-seqs 8",
    "vllm serve M \u2013-max-num-seqs 8",
    "vllm serve M \u2014max-num-seqs \u201c8\u201d",
    "vllm serve M \u2011\u2011max\u2011num\u2011seqs\u200b 8",
    f"I'm running {LINE}",
    f"don't know.\n{LINE}",
    "vllm serve `cat model.txt` --max-num-seqs 8",
    "vllm serve $(cat model.txt) --max-num-seqs 8",
    "vllm serve M `# many` --max-num-seqs 8",
    "docker run --entrypoint bash vllm/vllm-openai -c 'vllm serve M --max-num-seqs 8'",
    f"jobs:\n  bench:\n    steps:\n    - run: |\n        cd x\n        {LINE}\n",
    f"apiVersion: v1\nkind: Service\nmetadata:\n  name: vllm\n---\nspec:\n  image: x/vllm\n  command: {LINE}\n",
]


@pytest.mark.parametrize("text", PASTED)
def test_what_is_pasted(text):
    found = imported(text)
    assert found.config == {"max_num_seqs": 8}
    assert (found.unknown, found.removed, found.left_out) == ([], [], [])


def test_what_is_pasted_keeps_its_lines():
    found = imported("It's:\n> ```sh\n> vllm serve M \\\n>   --max-num-seqs x\n> ```\nor `vllm serve N`\n")
    assert [(item.line, item.why) for item in found.left_out] == [
        (6, "a second server is started here, only the first is read"),
        (4, '--max-num-seqs: "x" is not allowed, must be an integer from 1 to 1000000'),
    ]
    found = imported("a:\n  image: x/vllm\n  command: --model M\n---\nb:\n  image: x/vllm\n  command: --model N\n")
    assert [(item.line, item.why) for item in found.left_out] == [
        (4, "a second server is started here, only the first is read")
    ]


def test_many_words_of_prose_take_time_in_proportion():
    with pytest.raises(ConfigError, match="starts no vllm serve"):
        read_file("serve-command", ["it's vllm serve's fault. " * 5_000])


DOCUMENTS = [
    '{"containerDefinitions": [{"image": "vllm/vllm-openai", "command": ["--model", "M", "--max-num-seqs", "8"]}]}',
    '{"cmd": "vllm serve M --max-num-seqs 8"}',
    '{"spec": {"containers": [\n  {"image": "x/vllm",\n   "args": [\n    "--max-num-seqs",\n    "8"\n   ]}\n]}}\n',
    # As `docker inspect` prints it.
    """[
 {"Path": "vllm", "Args": ["serve", "M", "--max-num-seqs", "8"],
  "Config": {"Image": "x/vllm",
  "Cmd": [
   "M",
   "--max-num-seqs",
   "8"
  ],
  "Entrypoint": ["vllm", "serve"]}}
]
""",
    """initContainers:
- image: busybox
  command: [sh, -c, wget --model x]
containers:
- image: x/vllm
  args: [--max-num-seqs, '8']
- image: proxy
  args: ["--port", "80"]
""",
    "predictor:\n  model:\n    modelFormat: {name: vLLM}\n    args: [--max-num-seqs=8]\n",
    "containers:\n- args:\n  {{- if .x }}\n  - --model\n  - {{ .Values.m }}\n  {{- end }}\n  - --max-num-seqs=8\n",
    "llm_configs:\n- model_loading_config: {model_id: q}\n  engine_kwargs:\n    max_num_seqs: 8\n",
    "modelSpec:\n- name: l\n  vllmConfig:\n    maxNumSeqs: 8\n    extraArgs: [--served-model-name, a, b]\n",
    "serve:\n\tvllm serve M --max-num-seqs 8\n",
    'ARGS=(--max-num-seqs # many\n  8)\nARGS+=(--served-model-name "a b")\nvllm serve M "${ARGS[@]}"\n',
    'N=8\nARGS="--max-num-seqs"\nARGS+=" $N"\nvllm serve M $ARGS\n',
]


@pytest.mark.parametrize("text", DOCUMENTS)
def test_a_server_within_a_document(text):
    found = imported(text)
    assert (found.format, found.config) == ("serve-command", {"max_num_seqs": 8})
    assert (found.unknown, found.removed, found.left_out) == ([], [], [])


def test_words_of_a_container_have_their_lines():
    text = (
        "a:\n  image: x/vllm\n  command:\n  - --model\n  - M\n  # few\n  - --max-num-seqs\n  - x\n  - --block-size=0\n"
    )
    assert [(item.line, item.why.split(":")[0]) for item in imported(text).left_out] == [
        (7, "--max-num-seqs"),
        (9, "--block-size"),
    ]
    text = "a:\n- image: x/vllm\n  args:\n  - |\n    cd x\n    vllm serve M \\\n      --max-num-seqs x\n"
    assert [item.line for item in imported(text).left_out] == [7]


@pytest.mark.parametrize("text", ["[" * 900 + "]" * 900, '{"args":' * 900 + '"vllm"' + "}" * 900])
def test_a_document_nested_deeply_is_no_server(text):
    with pytest.raises(ConfigError, match=r"starts no vllm serve|is not known"):
        read_file("serve-command", [text])


def test_a_variable_that_doubles_itself_stays_small():
    found = imported("X='--max-num-seqs 8 '\n" + 'X="$X$X"\n' * 60 + "vllm serve M $X\n")
    assert found.config == {"max_num_seqs": 8}


@pytest.mark.parametrize(
    "text", ["vllm.entrypoints.x", "x $(vllm.entrypoints. y)", "sh -c " * 50 + "vllm.entrypoints."]
)
def test_a_word_that_is_a_command_of_itself(text):
    with pytest.raises(ConfigError, match="starts no vllm serve"):
        read_file("serve-command", [text])


def test_a_list_of_words_that_is_no_json():
    with pytest.raises(ConfigError, match="starts no vllm serve"):
        read_file("serve-command", [r'CMD ["--model", "\d"]'])
    assert imported('CMD ["--max-num-seqs", "8", "a\tb"]').config == {"max_num_seqs": 8}


@pytest.mark.parametrize("filler", ["\n", "docker ", "# docker ", "vllm", "`--a ", "'", "a:\n "])
def test_fillers_take_time_in_proportion(filler):
    text = "vllm serve M --max-num-seqs 8\n" + filler * 20_000
    assert imported(text).config == {"max_num_seqs": 8}
