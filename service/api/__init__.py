"""The HTTP side: from bytes to an operation and back, and what surrounds every request."""
