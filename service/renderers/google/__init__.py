"""How Google renders a request, on the Gemini API and on Vertex AI."""
