"""Byte-pair encoding by a merge list, on Hugging Face tokenizers: the reference for the legacy Claude and Gemma 3."""

from __future__ import annotations

import re
from collections.abc import Sequence

import tokenizers

from service.tokenizers.base import Engine
from service.tokenizers.byte_alphabet import decode_byte_level
from service.tokenizers.surrogates import repair_surrogates
from service.tokenizers.vocabulary import Vocabulary

BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")


def decode_sentencepiece(token: str) -> bytes:
    """The bytes of a SentencePiece token: a byte token is its byte, U+2581 is a blank."""
    byte = BYTE_TOKEN.fullmatch(token)
    return bytes([int(byte.group(1), 16)]) if byte else token.replace("\u2581", " ").encode()


class MergeBpe(Vocabulary):
    """A Hugging Face tokenizer.json; its special tokens match in text only when they are asked for.

    Other added tokens (Gemma's HTML tags, `<unused0>`...) are pieces of the vocabulary and always match.
    """

    engine: Engine = "reference"

    def __init__(self, name: str, fingerprint: str, content: bytes) -> None:
        self._tokenizer = tokenizers.Tokenizer.from_str(content.decode())
        self._tokenizer.encode_special_tokens = True
        added = self._tokenizer.get_added_tokens_decoder()
        super().__init__(
            name, fingerprint,
            {token.content: number for number, token in added.items() if token.special},
            added_tokens=self._tokenizer.num_special_tokens_to_add(is_pair=False),
        )
        self._decode = decode_byte_level if "ByteLevel" in str(self._tokenizer.decoder) else decode_sentencepiece

    def _ids(self, text: str) -> Sequence[int]:
        ids: list[int] = self._encode_all([text])[0].ids
        return ids

    def _count_batch(self, texts: Sequence[str]) -> list[int]:
        return [len(found) for found in self._encode_all(texts)]

    def _encode_all(self, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        # the batch call is the one that leaves out offsets and lets other threads run
        try:
            found: list[tokenizers.Encoding] = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        except TypeError:  # what it raises on surrogates
            return self._encode_all([repair_surrogates(text) for text in texts])
        return found

    def _token_bytes(self, token: int) -> bytes | None:
        if not 0 <= token < 2**32:
            return None
        text = self._tokenizer.id_to_token(token)
        return None if text is None else self._decode(text)
