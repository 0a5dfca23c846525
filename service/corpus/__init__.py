"""Bulk counting: a corpus of files on one machine, and data frames for an engine that spreads them over many.

    inputs -> batches (records) -> rows and totals (counting, by several processes) -> journal -> output

Other processes only count. The main process reads and writes, and gets the results in order. `frames` has the same
counter for pandas frames and Arrow tables: PySpark's `mapInPandas`, Ray Data's `map_batches`.
"""
