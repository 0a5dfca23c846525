"""Does a request fit, and who may still spend how much."""
