"""Serves the app on a socket: worker processes, connections, and a shutdown that loses no request."""
