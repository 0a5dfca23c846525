"""Texts: truncating and splitting, trimming conversations, showing tokens and merges, training a small BPE."""
