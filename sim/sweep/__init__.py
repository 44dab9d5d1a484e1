"""Many runs of one scenario under many settings, on all cores or on a cluster, resumable after a kill.

Not for the browser: `run` takes joblib or Dask, `table` numpy. What is varied stands in
`sim/points.py`.
"""
