"""The ledger: sums of what was counted and of what was billed."""
