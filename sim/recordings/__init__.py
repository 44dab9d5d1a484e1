"""Recordings of runs on real hardware: their form, the checks before one is shown, time models fitted to them.

Standard library only, but `calibrate`, which needs numpy. The page gets what `scripts/recordings.py` packs of them.
"""
