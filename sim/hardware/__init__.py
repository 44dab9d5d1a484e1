"""Plans of the simulator on real hardware: an executor in torch, and a recorder of the vLLM engine.

Neither the page nor the other commands import any of this. Its modules need packages of `requirements-hardware.txt`.
"""
