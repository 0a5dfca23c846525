"""Vocabulary files and their manifest. Data only: `service.tokenizers.data` reads and verifies them."""
