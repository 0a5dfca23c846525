"""Making texts and conversations shorter, to at most N tokens."""
