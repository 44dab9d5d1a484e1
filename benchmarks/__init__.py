"""Measurements: how fast the simulator is, and how its cost grows. Not part of the tests."""
