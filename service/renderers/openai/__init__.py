"""How OpenAI renders a request: Chat, Responses, completions and embeddings."""
