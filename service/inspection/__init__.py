"""How a text became tokens, shown."""
