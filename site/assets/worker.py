# What the worker runs once Python is up; `sim` was unpacked by boot.mjs.
from sim.page import handle

__export__ = ["handle"]
