"""Answering on a socket: processes, connections, and a stop that loses nothing."""
