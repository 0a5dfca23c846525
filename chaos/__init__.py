"""Faults under a constant, checked load: `make chaos` (python -m chaos)."""
