"""How Anthropic renders a Messages request, from Claude 2 to the newest."""
