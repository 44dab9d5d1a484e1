"""Scenarios that are measured."""

import csv
import random
from datetime import datetime
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SERVER = {"max_num_batched_tokens": 8192, "max_num_seqs": 256, "num_gpu_blocks": 20_000, "max_model_len": 8192}


def saturated(num_requests: int = 2000, max_num_seqs: int = 256, outputs: tuple[int, int] = (1, 400)) -> Json:
    """All requests there from the beginning: prompts of 16 to 1,500 tokens, outputs within `outputs`."""
    chance = random.Random(7)
    requests = [
        {"id": f"r{i}", "prompt_tokens": chance.randint(16, 1500), "output_tokens": chance.randint(*outputs)}
        for i in range(num_requests)
    ]
    return {"name": "saturated", "config": SERVER | {"max_num_seqs": max_num_seqs}, "requests": requests}


def azure(path: Path, rate: int) -> Json:
    """The hour of the Azure trace, arriving `rate` times faster."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    # Six digits of the fraction are microseconds; the seventh is cut, as nothing is compared here.
    times = [datetime.fromisoformat(row["TIMESTAMP"][:26]) for row in rows]
    requests = [
        {
            "id": f"r{i}",
            "arrival_us": round((time - times[0]).total_seconds() * 1_000_000) // rate,
            "prompt_tokens": int(row["ContextTokens"]),
            "output_tokens": int(row["GeneratedTokens"]),
        }
        for i, (row, time) in enumerate(zip(rows, times, strict=True))
    ]
    return {"name": f"azure x{rate}", "config": SERVER | {"max_model_len": 32_768}, "requests": requests}
