"""The benchmarks. Results are printed, never asserted: how fast a machine is says nothing about the code."""
