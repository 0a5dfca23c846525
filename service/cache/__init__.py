"""Caches of counts. They are bounded; keys are hashes and values are numbers, so no prompt text is kept anywhere."""
