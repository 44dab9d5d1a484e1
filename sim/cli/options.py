"""The command line's options and help, made from the table of parameters and the list of formats."""

import argparse
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import NoReturn

from .. import VLLM_VERSION, __version__
from ..errors import ConfigError
from ..exporters import FORMATS as EXPORT_FORMATS
from ..generate import GENERATOR
from ..hardware.order import Order
from ..hardware.shapes import SHAPES
from ..importers import FORMATS
from ..importers.select import UNITS
from ..metrics import Objectives
from ..parameter import Parameter, shown
from ..parameters import CONFIG, ONESTEP, REQUEST
from ..recordings.recording import BACKENDS, DEVICES
from ..recordings.scenarios import SITE_SCENARIOS

WIDTH = 79
GOODPUT = "--goodput"
VERSION = f"batchloom {__version__} (follows vLLM {VLLM_VERSION})"

_SCENARIO = """\
FILE holds a scenario in JSON, a list of scenarios, or one scenario a line
(JSON Lines); - is standard input. A scenario looks like this:

  {"name": "two", "config": {"max_num_batched_tokens": 256},
   "requests": [{"id": "A", "prompt_tokens": 600, "output_tokens": 5},
                {"id": "B", "arrival_step": 1, "prompt_tokens": 9,
                 "output_tokens": 3}]}
"""

_MORE_KEYS = """\
  prefix
      List of [segment name, tokens]: equal names are equal tokens.
  accepts
      List: how many draft tokens each verification accepts.
  images
      List of {"offset", "length", "hash"}: encoder inputs in the prompt.
"""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=WIDTH)


class Parser(argparse.ArgumentParser):
    """A parser whose faults are `ConfigError`, and so one line like every other."""

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong with the arguments."""
        command = self.prog.partition(" ")[2]
        raise ConfigError(command, f"{message} (see {self.prog} --help)")


def _parser(prog: str, description: str, epilog: str = "") -> Parser:
    return Parser(prog=prog, description=description, epilog=epilog, allow_abbrev=False, formatter_class=_Formatter)


def integer(text: str) -> int:
    """An integer of the command line, in ASCII digits, of a length that Python converts."""
    if not re.fullmatch(r"[+-]?[0-9]{1,400}", text):
        raise argparse.ArgumentTypeError(f"{shown(text)} is not an integer")
    return int(text)


def positive(text: str) -> int:
    """An integer from 1."""
    value = integer(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not allowed, must be an integer from 1")
    return value


def objective(text: str) -> tuple[str, int]:
    """The name of a field of `metrics.Objectives` and its value, from a word such as `ttft:200` or `tpot:12.5`."""
    name, _, bound = text.partition(":")
    match = re.fullmatch(r"([0-9]{1,12})(?:\.([0-9]{1,3}))?", bound)
    field = f"{name}_us"
    if field not in Objectives._fields or match is None:
        names = " or ".join(f"{field.removesuffix('_us')}:MS" for field in Objectives._fields)
        raise argparse.ArgumentTypeError(f"{shown(text)} is not allowed, must be {names}")
    return field, int(match[1]) * 1000 + int((match[2] or "").ljust(3, "0"))


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """What the command line asks for."""
    return parser().parse_args(_one_by_one(argv))


def _one_by_one(argv: Sequence[str]) -> list[str]:
    """Give each objective its own `--goodput`, so that FILE may stand behind them as well as before."""
    words: list[str] = []
    follows = False
    for word in argv:
        if follows and re.match(r"\w{2,}:", word):
            if words[-1] == GOODPUT:
                words.pop()
            words.append(f"{GOODPUT}={word}")
        else:
            words.append(word)
            follows = word == GOODPUT
    return words


def parser() -> Parser:
    """The parser of the whole command line. `command` in its result says what was asked for."""
    whole = _parser("batchloom", "A simulator of the vLLM V1 scheduler: which request computes what in which step.")
    whole.add_argument("--version", action="version", version=VERSION)
    commands = whole.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    _add_trace(commands)
    _add_onestep(commands)
    _add_generate(commands)
    _add_import(commands)
    _add_export(commands)
    _add_summary(commands)
    _add_diff(commands)
    _add_diagnose(commands)
    _add_sweep(commands)
    _add_record(commands)
    _add_calibrate(commands)
    return whole


Commands = argparse._SubParsersAction  # noqa: SLF001 - argparse has no public name for it


def _command(commands: "Commands[Parser]", name: str, short: str, description: str, epilog: str = "") -> Parser:
    return commands.add_parser(
        name,
        help=short,
        description=description,
        epilog=epilog,
        allow_abbrev=False,
        formatter_class=_Formatter,
    )


def _add_trace(commands: "Commands[Parser]") -> None:
    epilog = (
        f"{_SCENARIO}\nkeys of config:\n{_described(CONFIG)}\n"
        f"keys of a request, with id, a name that is used once:\n{_described(REQUEST)}{_MORE_KEYS}"
    )
    command = _command(
        commands,
        "trace",
        "run scenarios, print every step",
        "Run scenarios. Prints one trace a line, in JSON, in the order of the scenarios.\n"
        "Ends with status 2 at the first input that is not a scenario.",
        epilog,
    )
    command.add_argument("--explain", action="store_true", help="say of each request without tokens why it got none")
    command.add_argument("--max-steps", type=positive, metavar="N", help="cut each run after N steps")
    command.add_argument("files", nargs="+", metavar="FILE", help="scenarios; - is standard input")


def _add_onestep(commands: "Commands[Parser]") -> None:
    command = _command(
        commands,
        "onestep",
        "one step of D decodes and one prompt",
        "The one-step model: D requests that decode and one prompt of P tokens share a\n"
        "budget of B tokens; at most M requests run.",
    )
    for parameter in ONESTEP:
        _add_option(command, parameter)
    command.add_argument("--json", action="store_true", help="print a JSON object")


def _add_option(command: Parser, parameter: Parameter) -> None:
    flag = "--" + parameter.name.replace("_", "-")
    text = parameter.help_en.removesuffix(".").replace("%", "%%")
    text = f"{text} (default {parameter.default})"
    if parameter.kind == "bool":
        action = argparse.BooleanOptionalAction
        command.add_argument(flag, dest=parameter.name, action=action, default=parameter.default, help=text)
    elif parameter.kind == "choice":
        choices = parameter.choices
        command.add_argument(flag, dest=parameter.name, choices=choices, default=parameter.default, help=text)
    elif parameter.kind == "text":
        command.add_argument(flag, dest=parameter.name, metavar="TEXT", default=parameter.default, help=text)
    else:
        text = f"{text[:-1]}, from {parameter.minimum})"
        metavar = parameter.unit.upper() or "N"
        default = parameter.default
        command.add_argument(flag, dest=parameter.name, type=integer, metavar=metavar, default=default, help=text)


def _add_generate(commands: "Commands[Parser]") -> None:
    command = _command(
        commands,
        "generate",
        "make a scenario by rule and by chance",
        "Make requests: how many, when they arrive, how long they are, what they share.\n"
        "Prints one scenario in JSON; the same options always give the same.",
    )
    for parameter in GENERATOR:
        _add_option(command, parameter)
    help_text = "a key of the scenario's configuration, once for each; see batchloom trace --help"
    command.add_argument("--config", action="append", default=[], metavar="KEY=VALUE", help=help_text)
    command.add_argument("-o", "--output", metavar="FILE", help="write to FILE")


def _add_import(commands: "Commands[Parser]") -> None:
    formats = "".join(f"  {name:<14}{importer.help}\n" for name, importer in FORMATS.items())
    command = _command(
        commands,
        "import",
        "turn a file of another tool into a scenario",
        "Read a file of another tool. Prints one scenario in JSON. What could not be\n"
        "used is counted under its key imported, and told on standard error.",
        f"formats:\n  auto          told by how the file begins\n{formats}",
    )
    command.add_argument("format", choices=("auto", *FORMATS), metavar="FORMAT", help="see below")
    command.add_argument("file", metavar="FILE", help="the file; - is standard input")
    command.add_argument("--rows", type=positive, metavar="N", help="read only the first N rows")
    command.add_argument("--sample", type=positive, metavar="N", help="keep N requests, evenly spread over all")
    command.add_argument("--unit", choices=tuple(UNITS), help="the unit of its times, if it is not the one detected")


def _add_export(commands: "Commands[Parser]") -> None:
    formats = "\n".join(f"  {name:<14}{text}" for name, text in EXPORT_FORMATS.items())
    command = _command(
        commands,
        "export",
        "turn a scenario or a trace into a file of another tool",
        "Run one scenario, or take one trace, and print it in another format.",
        f"formats:\n{formats}",
    )
    command.add_argument("format", choices=tuple(EXPORT_FORMATS), metavar="FORMAT", help="see below")
    command.add_argument("file", metavar="SCENARIO_OR_TRACE", help="the file; - is standard input")


def _add_summary(commands: "Commands[Parser]") -> None:
    command = _command(
        commands,
        "summary",
        "sum up scenarios or traces",
        "Run scenarios, or take traces, and print for each: steps, tokens, budget used,\n"
        "preemptions, waiting, times to and between tokens. Percentiles are by nearest\n"
        "rank.",
        "FILE is as for batchloom trace, or what that printed. A trace tells neither its\n"
        "budget nor arrivals in us; those are left open then.",
    )
    command.add_argument("--json", action="store_true", help="print one JSON object a line")
    command.add_argument(
        GOODPUT,
        action="append",
        type=objective,
        metavar="NAME:MS",
        help="count the requests that keep ttft, tpot and e2el, in ms: --goodput ttft:200 tpot:50 e2el:3000",
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="scenarios or traces; - is standard input")


def _add_diff(commands: "Commands[Parser]") -> None:
    command = _command(
        commands,
        "diff",
        "compare scenarios under two configurations",
        "Run each scenario twice: under its own configuration, and with some of its keys\n"
        "changed. Prints the first step that differs, the field of the trace, and why.",
        "FILE is as for batchloom trace, which also lists the keys of a configuration.\n"
        "VALUE is JSON or a bare word: --config policy=priority, --config max_loras=null",
    )
    help_text = "a key to change, once for each"
    command.add_argument("--config", action="append", required=True, metavar="KEY=VALUE", help=help_text)
    command.add_argument("--json", action="store_true", help="print one JSON object a line")
    command.add_argument("file", metavar="FILE", help="scenarios; - is standard input")


def _add_diagnose(commands: "Commands[Parser]") -> None:
    command = _command(
        commands,
        "diagnose",
        "tell what is wrong with the run of a scenario",
        "Run scenarios and print for each what is wrong: starvation, thrashing, requests\n"
        "that never fit, and more, the worst first; where it shows, and what to change.",
        "FILE is as for batchloom trace. docs/diagnosis.md has the rules.",
    )
    command.add_argument("--try", dest="trials", action="store_true", help="run each change and tell whether it helps")
    command.add_argument("--json", action="store_true", help="print one JSON object a line")
    command.add_argument("file", metavar="FILE", help="scenarios; - is standard input")


def _add_sweep(commands: "Commands[Parser]") -> None:
    command = _command(
        commands,
        "sweep",
        "run a scenario under many settings",
        "Run one scenario with every combination of values, on all cores or on a cluster.\n"
        "Prints one line of CSV a run. Needs the packages joblib and numpy.",
        "FILE holds one scenario, or is a trace that batchloom import knows. KEY is one of a\n"
        "configuration, see batchloom trace --help, or rate: how many times faster the\n"
        "requests arrive. Values: max_num_seqs=64,128,256 or max_num_seqs=64:256:64.\n"
        "With -o a sweep that was killed goes on where it was; until it is complete, its\n"
        "finished runs are in a file beside OUT.",
    )
    command.add_argument("file", metavar="FILE", help="a scenario or a trace of requests; - is standard input")
    command.add_argument("--vary", action="append", required=True, metavar="KEY=...", help="an axis, once for each key")
    text = "runs of each combination; from the second on with the requests in another order"
    command.add_argument("--replicas", type=positive, default=1, metavar="N", help=text)
    command.add_argument("--jobs", type=positive, default=-1, metavar="N", help="processes (default: one a core)")
    command.add_argument("--dask", metavar="ADDRESS", help="run on the cluster of a Dask scheduler")
    command.add_argument("-o", "--output", metavar="OUT", help="write OUT.csv or OUT.parquet")
    command.add_argument("--html", metavar="FILE", help="write pictures and a table of all runs to FILE")


def _add_record(commands: "Commands[Parser]") -> None:
    command = _command(
        commands,
        "record",
        "run scenarios on real hardware",
        "Run scenarios on a model and record plan, blocks and times of each step: with an\n"
        "executor in torch, which runs the plan of the simulator, or with the engine of\n"
        "vLLM. A plan that is not the simulator's is an error. Needs torch, or vLLM.",
        f"SCENARIO is a file, or a scenario of the site: {', '.join(SITE_SCENARIOS)};\nsite stands for all of these.",
    )
    defaults = Order("torch", "cpu")
    command.add_argument("--backend", choices=BACKENDS, default=defaults.backend, help="what runs it (default torch)")
    command.add_argument("--device", choices=DEVICES, default=defaults.device, help="where (default cpu)")
    text = f"its shape, with random weights: {', '.join(SHAPES)} (default {defaults.model})"
    command.add_argument("--model", choices=tuple(SHAPES), default=defaults.model, metavar="NAME", help=text)
    text = "of weights and cache (default float32, in which tokens are compared)"
    command.add_argument("--dtype", choices=("float32", "bfloat16"), default=defaults.dtype, help=text)
    for name, text in (
        ("repeats", "runs that are kept"),
        ("dropped", "runs before them that are not"),
        ("threads", "threads on a CPU"),
    ):
        default = getattr(defaults, name)
        help_text = f"{text} (default {default})"
        command.add_argument(f"--{name}", type=positive, default=default, metavar="N", help=help_text)
    command.add_argument("-o", "--output", required=True, metavar="OUT", help="a file; for several scenarios a folder")
    command.add_argument("scenarios", nargs="+", metavar="SCENARIO", help="see below")


def _add_calibrate(commands: "Commands[Parser]") -> None:
    command = _command(
        commands,
        "calibrate",
        "fit a time model to recordings",
        "Fit an integer time model to recordings of one backend, device and model. Prints\n"
        "how far it is off, by kind of step. Needs the package numpy.",
        "A profile in the folder sim/profiles is a name that cost_model takes.",
    )
    command.add_argument("--name", required=True, metavar="NAME", help="what the profile is called")
    command.add_argument("-o", "--output", metavar="OUT", help="write the profile to OUT")
    command.add_argument("recordings", nargs="+", metavar="RECORDING", help="files of batchloom record")


def _described(table: Iterable[Parameter]) -> str:
    return "".join(f"  {_head(parameter)}\n{_body(parameter)}\n" for parameter in table)


def _head(parameter: Parameter) -> str:
    if parameter.default is None:
        default = f"default: {parameter.none_means}" if parameter.none_means else "required"
    else:
        default = f"default {shown(parameter.default)}"
    return f"{parameter.name} ({default})"


def _body(parameter: Parameter) -> str:
    allowed = parameter.allowed()
    text = f"{parameter.help_en} {allowed[0].upper()}{allowed[1:]}"
    text += f" ({parameter.unit})." if parameter.unit else "."
    if parameter.flag:
        text += f" vllm serve: {parameter.flag}"
    indent = " " * 6
    return textwrap.fill(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
