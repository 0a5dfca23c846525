"""Tallystick: a self-hosted, offline token counting service for OpenAI, Claude, Gemini and open models."""

__version__ = "0.1.0"
