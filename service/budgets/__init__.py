"""Budgets: whether a request fits, and how much may still be spent."""
