"""Batchloom: a deterministic integer simulator of the vLLM V1 scheduler."""

__version__ = "0.1.0"

VLLM_VERSION = "0.33.0"
"""The release of vLLM whose decisions the simulator makes."""
