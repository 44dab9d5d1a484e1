"""The one table of parameters: names, flags, types, ranges, units and help in both languages.

The command line, validation, forms, query strings and reference pages are made from it. Names are vLLM's.
"""

from .cost import COST_MODELS
from .parameter import Parameter, Value, shown

__all__ = ["CONFIG", "ONESTEP", "REQUEST", "Parameter", "Value", "by_name", "shown"]

MAX_TOKENS = 10_000_000
MAX_BLOCKS = 10_000_000
MAX_REQUESTS = 1_000_000
MAX_ARRIVAL_STEP = 1_000_000
MAX_ARRIVAL_US = 10**15


def _tokens(name: str, default: int | None, help_en: str, help_zh: str, **more: object) -> Parameter:
    settings = {"minimum": 1, "maximum": MAX_TOKENS, "unit": "tokens"} | more
    return Parameter(name, "int", default, help_en, help_zh, **settings)  # type: ignore[arg-type]


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


CONFIG: tuple[Parameter, ...] = (
    _tokens(
        "max_num_batched_tokens",
        2048,
        "Token budget of one step, shared by all requests.",
        "一步之内所有请求共享的token预算。",
        flag=_flag("max_num_batched_tokens"),
    ),
    Parameter(
        "max_num_seqs",
        "int",
        128,
        "Most requests that may run at the same time.",
        "最多同时运行的请求数。",
        minimum=1,
        maximum=MAX_REQUESTS,
        unit="requests",
        flag=_flag("max_num_seqs"),
    ),
    Parameter(
        "max_num_active_seqs",
        "int",
        None,
        "Most requests admitted into running, when that is to be fewer than max_num_seqs.",
        "准入running的请求数上限，可以比max_num_seqs更小。",
        minimum=1,
        maximum=MAX_REQUESTS,
        unit="requests",
        flag=_flag("max_num_active_seqs"),
        none_means="max_num_seqs",
    ),
    _tokens(
        "max_num_scheduled_tokens",
        None,
        "Most tokens the scheduler hands out in one step, when that is to be fewer than max_num_batched_tokens.",
        "调度器一步最多发出的token数，可以比max_num_batched_tokens更小。",
        flag=_flag("max_num_scheduled_tokens"),
        none_means="max_num_batched_tokens",
    ),
    _tokens(
        "max_model_len",
        8192,
        "Longest sequence, prompt and output together.",
        "序列的最大长度，prompt与输出合计。",
        flag=_flag("max_model_len"),
    ),
    Parameter(
        "enable_chunked_prefill",
        "bool",
        True,
        "Whether a prompt may be cut to the budget that is left.",
        "prompt能否按剩余预算切块。",
        flag=_flag("enable_chunked_prefill"),
    ),
    _tokens(
        "long_prefill_token_threshold",
        0,
        "Most tokens one request gets in a step while others are there too; 0 sets no limit.",
        "还有其他请求时，单个请求一步最多得到的token数；0表示不限制。",
        minimum=0,
        flag=_flag("long_prefill_token_threshold"),
    ),
    Parameter(
        "long_prefill_token_threshold_adaptive",
        "bool",
        False,
        "Raise the long-prefill threshold to a fair share of the budget when few requests are there.",
        "请求较少时，把长prefill阈值提高到预算的均分值。",
        flag=_flag("long_prefill_token_threshold_adaptive"),
    ),
    Parameter(
        "policy",
        "choice",
        "fcfs",
        "Order of the waiting queue and choice of the victim: first come first served, or priority.",
        "等待队列的顺序与抢占对象的选择：先来先服务，或按优先级。",
        choices=("fcfs", "priority"),
        flag="--scheduling-policy",
    ),
    Parameter(
        "block_size",
        "int",
        16,
        "Tokens that one KV block holds.",
        "一个KV块容纳的token数。",
        minimum=1,
        maximum=1_000_000,
        unit="tokens",
        flag=_flag("block_size"),
    ),
    Parameter(
        "num_gpu_blocks",
        "int",
        10_000,
        "KV blocks in the pool; one of them is the null block and never used.",
        "KV块池的块数；其中一块是空块，永远不用。",
        minimum=1,
        maximum=MAX_BLOCKS,
        unit="blocks",
        flag="--num-gpu-blocks-override",
    ),
    Parameter(
        "watermark",
        "number",
        0.0,
        "Fraction of the KV blocks kept free when a waiting request is admitted.",
        "准入等待请求时保留的空闲KV块比例。",
        minimum=0,
        maximum=1,
        below_maximum=True,
        flag=_flag("watermark"),
    ),
    Parameter(
        "scheduler_reserve_full_isl",
        "bool",
        True,
        "Admit a request only when all of its known tokens fit into the free KV blocks.",
        "只有请求的全部已知token都放得进空闲KV块时才准入。",
        flag=_flag("scheduler_reserve_full_isl"),
    ),
    Parameter(
        "prefill_schedule_interval",
        "int",
        1,
        "Let prefill run only once in so many steps; the steps between decode only.",
        "每隔多少步才允许一次prefill；中间的步只做decode。",
        minimum=1,
        maximum=1_000_000,
        unit="steps",
        flag=_flag("prefill_schedule_interval"),
    ),
    Parameter(
        "enable_prefix_caching",
        "bool",
        False,
        "Reuse the KV blocks of a prefix that was computed before.",
        "复用之前算过的前缀的KV块。",
        flag=_flag("enable_prefix_caching"),
    ),
    Parameter(
        "num_speculative_tokens",
        "int",
        0,
        "Draft tokens proposed for each request after it has sampled; 0 turns speculation off.",
        "请求每次采样之后为它提出的草稿token数；0表示关闭投机解码。",
        minimum=0,
        maximum=1_000,
        unit="tokens",
        flag="--speculative-config.num_speculative_tokens",
    ),
    Parameter(
        "num_lookahead_tokens",
        "int",
        None,
        "Token slots that each allocation reserves ahead for a drafter.",
        "每次分配时为草稿模型预留的token位置数。",
        minimum=0,
        maximum=1_000,
        unit="tokens",
        none_means="0",
    ),
    Parameter(
        "draft_slots_per_request",
        "int",
        None,
        "Input slots that each scheduled request keeps for its drafter.",
        "每个被调度的请求为草稿模型保留的输入位置数。",
        minimum=0,
        maximum=1_000,
        unit="tokens",
        none_means="0",
    ),
    Parameter(
        "async_scheduling",
        "bool",
        False,
        "Plan the next step while the one before still runs: two batches in flight.",
        "上一步还在执行时就安排下一步：同时有两个批次在途。",
        flag=_flag("async_scheduling"),
    ),
    _tokens(
        "encoder_compute_budget",
        0,
        "Image tokens that the encoder may compute in one step; 0 means text only.",
        "编码器一步可以计算的图像token数；0表示只有文本。",
        minimum=0,
    ),
    _tokens(
        "encoder_cache_size",
        0,
        "Image tokens that the encoder cache holds; 0 means the same as encoder_compute_budget.",
        "编码器缓存容纳的图像token数；0表示与encoder_compute_budget相同。",
        minimum=0,
    ),
    Parameter(
        "disable_chunked_mm_input",
        "bool",
        False,
        "Never cut an image into two steps.",
        "不把一张图像切到两步里。",
        flag=_flag("disable_chunked_mm_input"),
    ),
    Parameter(
        "max_loras",
        "int",
        None,
        "Most LoRA adapters in one batch; left out, there is no limit.",
        "一个批次里最多的LoRA适配器数；不填表示没有限制。",
        minimum=1,
        maximum=10_000,
        flag=_flag("max_loras"),
        none_means="no limit",
    ),
    Parameter(
        "cost_model",
        "choice",
        "h200-llama-3.1-8b",
        "Integer time model of a step, for scenarios whose requests carry arrival_us.",
        "单步耗时的整数模型，用于请求带有arrival_us的场景。",
        choices=tuple(COST_MODELS),
    ),
)

REQUEST: tuple[Parameter, ...] = (
    Parameter(
        "arrival_step",
        "int",
        0,
        "Step before which the request arrives.",
        "请求在哪一步之前到达。",
        minimum=0,
        maximum=MAX_ARRIVAL_STEP,
        unit="steps",
    ),
    Parameter(
        "arrival_us",
        "int",
        None,
        "Arrival in microseconds from the start, instead of arrival_step.",
        "从开始算起的到达时间（微秒），代替arrival_step。",
        minimum=0,
        maximum=MAX_ARRIVAL_US,
        unit="us",
        none_means="arrival_step",
    ),
    _tokens("prompt_tokens", None, "Length of the prompt.", "prompt的长度。"),
    _tokens("output_tokens", None, "Tokens to generate.", "要生成的token数。"),
    Parameter(
        "priority",
        "int",
        0,
        "Priority; the lower number is served first.",
        "优先级；数字小的先被服务。",
        minimum=-(2**31),
        maximum=2**31 - 1,
    ),
    Parameter(
        "lora",
        "int",
        None,
        "Number of the LoRA adapter; 0 or left out means none.",
        "LoRA适配器编号；0或不填表示没有。",
        minimum=0,
        maximum=1_000_000,
        none_means="0",
    ),
    Parameter(
        "abort_step",
        "int",
        None,
        "Step before which the request is aborted.",
        "请求在哪一步之前被中止。",
        minimum=0,
        maximum=2 * MAX_ARRIVAL_STEP,
        unit="steps",
        none_means="never",
    ),
)

ONESTEP: tuple[Parameter, ...] = (
    Parameter(
        "D",
        "int",
        10,
        "Running requests that decode; each wants one token.",
        "正在decode的请求数；每个要1个token。",
        minimum=0,
        maximum=64,
        unit="requests",
    ),
    Parameter(
        "P",
        "int",
        24,
        "Tokens of the one waiting prompt.",
        "唯一在等待的prompt的token数。",
        minimum=0,
        maximum=256,
        unit="tokens",
    ),
    Parameter(
        "B",
        "int",
        16,
        "Token budget of one step (max_num_batched_tokens).",
        "一步的token预算（max_num_batched_tokens）。",
        minimum=1,
        maximum=128,
        unit="tokens",
    ),
    Parameter(
        "M",
        "int",
        32,
        "Most running requests (max_num_seqs).",
        "running请求数上限（max_num_seqs）。",
        minimum=1,
        maximum=64,
        unit="requests",
    ),
    Parameter(
        "policy",
        "choice",
        "decode-first",
        "Who takes from the budget first.",
        "谁先从预算里拿token。",
        choices=("decode-first", "prefill-first"),
    ),
    Parameter(
        "chunked_prefill",
        "bool",
        True,
        "Whether the prompt may be cut to what is left of the budget.",
        "prompt能否按剩余预算切块。",
    ),
)


def by_name(table: tuple[Parameter, ...]) -> dict[str, Parameter]:
    """The rows of `table` by name, in the table's order."""
    return {parameter.name: parameter for parameter in table}
