"""What was counted and what was billed, kept as sums."""
