"""Bulk counting: a corpus of files on one machine, and data frames for an engine that spreads them over many.

    inputs -> batches (records) -> rows and totals (counting, by several processes) -> journal -> output

Only the counting is done by others than the main process; batches go out and come back in order. `frames` is the same
counter for pandas frames: PySpark's `mapInPandas`, Ray Data's `map_batches`.
"""
