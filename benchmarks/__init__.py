"""The speed harness. Results are printed, never asserted: a machine's speed is not a fact about the code."""
