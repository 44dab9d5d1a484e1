#!/bin/sh
# Puts the scheduler of vLLM into a virtual environment of its own: `sh oracle/setup.sh [DIR]`, oracle/.venv by default.
# It takes about 3.5 GB of disk and some minutes. No GPU is needed: vLLM is installed without most of what it asks for,
# and so much of the rest that the scheduler can be imported. A second run does nothing.
set -eu
cd "$(dirname "$0")/.."

VERSION=0.33.0
VENV=${1:-oracle/.venv}
NOTE=$VENV/.vllm-$VERSION
if [ -e "$NOTE" ]; then exit 0; fi

# pip also complains about all that vLLM asks for and is left out here; what it says is shown only when it fails.
LOG=$VENV/setup.log
install() {
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-input "$@" >"$LOG" 2>&1 || {
        echo "batchloom: could not install $*: the output is in $LOG" >&2
        exit 1
    }
}

echo "batchloom: putting vLLM $VERSION into $VENV"
"${PYTHON:-python3}" -m venv "$VENV"
install torch==2.13.0 numpy
install --no-deps "vllm==$VERSION"
# What vLLM imports on the way to its scheduler.
install 'transformers>=5.16.1,<5.21' 'mistral_common[image]' apache-tvm-ffi==0.1.11 depyf==0.20.0 lark==1.2.2 \
    aiohttp blake3 cachetools cbor2 cloudpickle einops fastapi filelock gguf ijson jsonschema msgspec openai \
    opencv-python-headless orjson packaging partial-json-parser pillow prometheus_client protobuf psutil py-cpuinfo \
    pybase64 pydantic python-json-logger pyyaml pyzmq regex requests sentencepiece setproctitle tiktoken tqdm uvloop \
    watchfiles
# These would bring more of their own than is used here.
install --no-deps compressed-tensors==0.17.0 lm-format-enforcer==0.11.3 xgrammar==0.2.8 \
    anthropic llguidance mcp oss-harmony outlines_core
"$VENV/bin/python" -c 'import vllm.v1.core.sched.scheduler' 2>/dev/null || {
    echo "batchloom: the scheduler of vLLM $VERSION cannot be imported from $VENV" >&2
    exit 1
}
touch "$NOTE"
