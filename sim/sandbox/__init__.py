"""The sandbox: a scenario that somebody made, its run seen along requests and steps, and what stands beside it."""
