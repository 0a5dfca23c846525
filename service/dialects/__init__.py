"""The wire formats of requests: reading a body into the inside types, and wording answers and errors."""
