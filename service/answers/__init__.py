"""What the API and the command line answer, as JSON. Money is a decimal string, an instant is ISO 8601 in UTC."""
