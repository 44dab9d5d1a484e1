"""The flags of `vllm serve` 0.33.0 by what follows them, and those of older releases that are gone.

Source: `vllm/entrypoints/common/cli_args.py::make_arg_parser` of 0.33.0; those of older releases from
theirs, 0.4.3 on.
"""

from typing import Literal, NamedTuple

Kind = Literal["value", "list", "optional", "switch", "on"]
"""What follows a flag: a value, one or more, none or one, nothing (with a flag for no), nothing (without one)."""


class Option(NamedTuple):
    """A flag: the argument it sets, what follows it, and what it sets a switch to."""

    dest: str
    kind: Kind
    switch: bool = True


_VALUE = """
    api-server-count config chat-template chat-template-content-format default-chat-template-kwargs
    reasoning-effort-map response-role tool-call-parser tool-parser-plugin tool-strict-level tool-server
    max-log-len sse-keep-alive-interval cohere-format anthropic-disabled-thinking-effort fingerprint-mode
    fingerprint-value host port grpc-port data-parallel-supervisor-port dp-supervisor-probe-interval-s
    dp-supervisor-probe-timeout-s dp-supervisor-probe-failure-threshold uds uvicorn-log-level
    disable-access-log-for-endpoints allowed-origins allowed-methods allowed-headers ssl-keyfile ssl-certfile
    ssl-ca-certs ssl-cert-reqs ssl-ciphers root-path middleware h11-max-incomplete-event-size
    h11-max-header-count model runner convert tokenizer tokenizer-mode dtype seed hf-config-path
    allowed-local-media-path revision code-revision tokenizer-revision max-model-len quantization
    quantization-config max-logprobs logprobs-mode config-format hf-overrides model-class-overrides
    pooler-config generation-config override-generation-config sleep-mode-backend model-impl io-processor-plugin
    renderer-num-workers load-format download-dir safetensors-load-strategy safetensors-prefetch-num-threads
    safetensors-prefetch-block-size model-loader-extra-config pt-load-map-location attention-backend
    mamba-backend mamba-ssu-algorithm mamba-cache-philox-rounds reasoning-parser reasoning-parser-plugin
    distributed-executor-backend pipeline-parallel-size master-addr master-port nnodes node-rank
    distributed-timeout-seconds cpu-distributed-timeout-seconds device-ids tensor-parallel-size
    decode-context-parallel-size dcp-comm-backend dcp-kv-cache-interleave-size cp-kv-cache-interleave-size
    prefill-context-parallel-size data-parallel-size data-parallel-rank data-parallel-start-rank
    data-parallel-size-local data-parallel-address data-parallel-rpc-port data-parallel-backend all2all-backend
    ubatch-size elastic-ep-max-dp-size dbo-decode-token-threshold dp-sync-interval dbo-prefill-token-threshold
    eplb-config expert-placement-strategy max-parallel-loading-workers worker-cls worker-extension-cls
    fault-tolerance-config block-size gpu-memory-utilization kv-cache-memory-bytes kv-cache-dtype
    num-gpu-blocks-override prefix-caching-hash-algo prefix-cache-retention-interval mamba-cache-dtype
    mamba-ssm-cache-dtype mamba-block-size prefix-match-unit mamba-cache-mode replayssm-buffer-len
    kv-offloading-size kv-offloading-backend offload-backend cpu-offload-gb offload-group-size
    offload-num-in-group offload-prefetch-step limit-mm-per-prompt media-io-kwargs mm-processor-kwargs
    mm-processor-cache-gb mm-processor-cache-type mm-hasher-algorithm mm-shm-cache-max-object-size-mb
    mm-encoder-tp-mode mm-encoder-attn-backend mm-encoder-attn-dtype mm-encoder-fp8-scale-path
    mm-encoder-fp8-scale-save-path mm-encoder-fp8-scale-save-margin video-pruning-rate video-pruning-method
    mm-tensor-ipc mm-processor-device mm-ipc-gpu-memory-gb max-loras max-lora-rank lora-dtype max-cpu-loras
    default-mm-loras max-lora-cls-labels logging-config log-level log-config-file
    show-hidden-metrics-for-version otlp-traces-endpoint per-request-spec-decode-metrics kv-cache-metrics-sample
    custom-histogram-buckets jit-monitor-mode max-num-batched-tokens max-num-scheduled-tokens max-num-seqs
    max-num-active-seqs max-num-queued-reqs max-num-queued-tokens long-prefill-token-threshold scheduling-policy
    scheduler-cls watermark prefill-schedule-interval stream-interval max-cudagraph-capture-size ir-op-priority
    moe-backend linear-backend sparse-indexer-topk-backend speculative-config spec-method spec-model spec-tokens
    watermark-config diffusion-config kv-transfer-config kv-events-config ec-transfer-config ec-manager-config
    compilation-config attention-config engram-config reasoning-config kernel-config additional-config
    structured-outputs-config aux-output-config profiler-config watchdog-config optimization-level
    performance-mode weight-transfer-config shutdown-timeout gdn-prefill-backend kda-prefill-backend
    kda-decode-backend
"""

_LIST = """
    lora-modules api-key allowed-media-domains served-model-name sleep-preserve-parameter-names
    logits-processors ignore-patterns numa-bind-nodes numa-bind-cpus kv-cache-dtype-skip-layers
    cpu-offload-params offload-params lora-target-modules collect-detailed-traces cudagraph-capture-sizes
"""

_SWITCH = """
    trust-request-chat-template trust-request-mm-kwargs return-tokens-as-token-ids enable-auto-tool-choice
    exclude-tools-when-tool-choice-none enable-prompt-tokens-details enable-per-request-metrics
    enable-server-load-tracking enable-force-include-usage enable-tokenizer-info-endpoint enable-log-outputs
    enable-log-deltas cohere-is-reasoning-model log-error-stack tokens-only enable-scale-out
    disable-uvicorn-access-log allow-credentials enable-ssl-refresh enable-request-id-headers
    disable-fastapi-docs enable-offline-docs enable-flash-late-interaction trust-remote-code
    allow-deprecated-quantization enforce-eager enable-return-routed-experts return-sampling-mask
    use-fp64-gumbel enable-trace-replay disable-sliding-window disable-cascade-attn skip-tokenizer-init
    enable-prompt-embeds enable-sleep-mode sleep-mode-offload-cudagraph enable-cumem-allocator
    enable-nccl-comm-suspend use-tqdm-on-load enable-mamba-cache-stochastic-rounding numa-bind dcp-q-replicate
    data-parallel-hybrid-lb data-parallel-external-lb enable-hc-sp enable-expert-parallel
    enable-batch-sharded-sampling enable-ep-weight-filter enable-dbo enable-shm-tensor-arena enable-elastic-ep
    disable-nccl-for-dp-synchronization enable-eplb ray-workers-use-nsight disable-custom-all-reduce
    enable-fault-tolerance enable-prefix-caching kv-sharing-fast-prefill swa-bounded-replay
    enable-mamba-shared-prefix-checkpoint use-replayssm language-model-only enable-mm-embeds mm-encoder-only
    interleave-mm-strings skip-mm-profiling mm-device-do-normalize enable-lora enable-tower-connector-lora
    fully-sharded-loras specialize-active-lora enable-mixed-moe-lora-format enable-moe-shared-loras
    kv-cache-metrics cudagraph-metrics enable-layerwise-nvtx-tracing enable-mfu-metrics
    enable-logging-iteration-details jit-monitor-verbose long-prefill-token-threshold-adaptive
    enable-chunked-prefill disable-chunked-mm-input scheduler-reserve-full-isl disable-hybrid-kv-cache-manager
    async-scheduling enable-flashinfer-autotune monokernel fail-on-environ-validation enable-log-requests
"""

_ON = """
    headless grpc data-parallel-multi-port-external-lb disable-log-stats aggregate-engine-logging
"""

SHORT = {
    "-asc": "api-server-count",
    "-q": "quantization",
    "-pp": "pipeline-parallel-size",
    "-n": "nnodes",
    "-r": "node-rank",
    "-tp": "tensor-parallel-size",
    "-dcp": "decode-context-parallel-size",
    "-pcp": "prefill-context-parallel-size",
    "-dp": "data-parallel-size",
    "-dpn": "data-parallel-rank",
    "-dpr": "data-parallel-start-rank",
    "-dpl": "data-parallel-size-local",
    "-dpa": "data-parallel-address",
    "-dpp": "data-parallel-rpc-port",
    "-dpb": "data-parallel-backend",
    "-dph": "data-parallel-hybrid-lb",
    "-dpe": "data-parallel-external-lb",
    "-dpm": "data-parallel-multi-port-external-lb",
    "-ep": "enable-expert-parallel",
    "-sc": "speculative-config",
    "-dc": "diffusion-config",
    "-cc": "compilation-config",
    "-ac": "attention-config",
    "--device-memory-utilization": "gpu-memory-utilization",
}
"""Short forms, and the one flag with two names."""

_REMOVED_VALUE = """
    image-feature-size image-input-shape image-input-type image-token-id max-paddings max-context-len-to-capture
    quantization-param-path ngram-prompt-lookup-max ngram-prompt-lookup-min num-speculative-tokens
    speculative-disable-by-batch-size speculative-max-model-len speculative-model
    spec-decoding-acceptance-method speculative-draft-tensor-parallel-size speculative-model-quantization
    typical-acceptance-sampler-posterior-alpha typical-acceptance-sampler-posterior-threshold device
    long-lora-scaling-factors tokenizer-pool-extra-config tokenizer-pool-size tokenizer-pool-type
    max-prompt-adapter-token max-prompt-adapters num-scheduler-steps prompt-adapters qlora-adapter-name-or-path
    multi-step-stream-outputs override-neuron-config guided-decoding-backend lora-extra-vocab-size
    max-seq-len-to-capture num-lookahead-slots rope-scaling scheduler-delay-factor preemption-mode rope-theta
    override-pooler-config eplb-step-interval eplb-window-size num-redundant-experts task cuda-graph-sizes
    swap-space logits-processor-pattern max-long-partial-prefills max-num-partial-prefills
    override-attention-dtype
"""

_REMOVED_SWITCH = """
    engine-use-ray worker-use-ray disable-logprobs-during-spec-decoding speculative-disable-mqa-scorer
    use-v2-block-manager enable-prompt-adapter enable-reasoning expand-tools-even-if-tool-choice-none
    disable-async-output-proc enable-lora-bias eplb-log-balancedness
    guided-decoding-disable-additional-properties guided-decoding-disable-any-whitespace
    guided-decoding-disable-fallback disable-mm-preprocessor-cache enable-multimodal-encoder-data-parallel
    disable-frontend-multiprocessing calculate-kv-scales enable-bf16x3-router-gemm
    enable-mamba-fine-grained-prefix-cache
"""

REMOVED = {"--" + name: bool(name in _REMOVED_VALUE.split()) for name in (_REMOVED_VALUE + _REMOVED_SWITCH).split()}
"""Flags that vLLM no longer has, and whether a value follows them."""

REMOVED_ENVIRONMENT = ("VLLM_USE_V1",)
"""Variables that chose between schedulers and that vLLM no longer reads."""

INSTEAD = {
    "--num-speculative-tokens": "--speculative-config.num_speculative_tokens",
    "--speculative-model": "--speculative-config.model",
    "--guided-decoding-backend": "--structured-outputs-config.backend",
    "--max-seq-len-to-capture": "--max-cudagraph-capture-size",
    "--cuda-graph-sizes": "--cudagraph-capture-sizes",
    "--rope-scaling": "--hf-overrides",
    "--rope-theta": "--hf-overrides",
    "--task": "--runner and --convert",
}
"""What does now what a removed flag did."""


def _options() -> dict[str, Option]:
    options: dict[str, Option] = {}
    kinds: list[tuple[str, Kind]] = [(_VALUE, "value"), (_LIST, "list"), ("hf-token", "optional"), (_ON, "on")]
    for names, kind in kinds:
        options |= {"--" + name: Option(name.replace("-", "_"), kind) for name in names.split()}
    for name in _SWITCH.split():
        dest = name.replace("-", "_")
        options["--" + name] = Option(dest, "switch")
        options["--no-" + name] = Option(dest, "switch", switch=False)
        for begin, inverse in (("enable-", "disable-"), ("disable-", "enable-")):
            if name.startswith(begin):
                options["--" + inverse + name.removeprefix(begin)] = Option(dest, "switch", switch=False)
    for text, name in SHORT.items():
        options[text] = options["--" + name]
    return options


OPTIONS = _options()
"""Every spelling of every flag, as `FlexibleArgumentParser` knows them."""
