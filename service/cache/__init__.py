"""Counts seen before: bounded, typed, keyed by hashes; no prompt text in keys or values."""
