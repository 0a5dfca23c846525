"""Normalization: the same as ctok's, character by character, and linear in hostile texts."""

from __future__ import annotations

import random
import time
import unicodedata

import pytest
from ctok.constants import LITERAL_MARKER_ESCAPE_TABLE
from ctok.main import normalize as ctok_normalize

from service.tokenizers.claude.normalize import is_changed, normalize, restore, to_nfc


def expected(text: str, *, fold_quotes: bool) -> str:
    normal: str = ctok_normalize(text, "3.0" if fold_quotes else "4.7")
    return normal.translate(LITERAL_MARKER_ESCAPE_TABLE)


@pytest.mark.parametrize("fold_quotes", [True, False])
def test_every_character_of_the_bmp_becomes_what_it_becomes_in_ctok(fold_quotes: bool) -> None:
    for start in range(0, 0x10000, 64):
        text = "x".join(map(chr, range(start, start + 64)))
        assert normalize(text, fold_quotes) == expected(text, fold_quotes=fold_quotes), hex(start)


@pytest.mark.parametrize("text", [
    "", "plain ASCII\r\n\tand\x00\x0b\x1f\x7f controls", "é\r\n\x85\x01\xa0", "\u0e4d\u0e32", "\u0e4d\x01\u0e32",
    "\u0e4d\ue000\u0e32", "\u0e4d\x00\u0e32", "e\u0301\x01\u0301", "\ud800\udc00\ud83d", "“it’s” ‘so’",
    "\ufdd0\ue000\ufdd4\ue004", "".join(map(chr, range(0xE000, 0xE100))) + "\ufdd0é\u2028\x00\r",
    "\u212b\u1100\u1161\u11a8\u0958", "\uf8ff" * 100 + "\u2003",
], ids=ascii)
def test_a_text_becomes_what_it_becomes_in_ctok(text: str) -> None:
    for fold_quotes in (True, False):
        assert normalize(text, fold_quotes) == expected(text, fold_quotes=fold_quotes)


def test_random_texts_become_what_they_become_in_ctok() -> None:
    some = random.Random(8)
    special = "a é\u0301\u0e4d\u0e32\x00\x01\r\n\xa0\u2003\u2028\ue000\uf8ff\ufdd0\ufdd3\ud800’“"
    for _ in range(3_000):
        text = "".join(some.choices(special, k=some.randint(1, 12)))
        assert normalize(text, True) == expected(text, fold_quotes=True)


def test_noncharacters_come_back() -> None:
    text = "a\ufdd0b\ufdd1\ufdd2\ufdd3\ufdd4"
    assert restore(normalize(text, False)) == text


@pytest.mark.parametrize(("char", "changed"), [
    ("a", False), ("é", False), ("\n", False), ("\t", False), ("\u3000", False), ("漢", False), ("\r", True),
    ("\x00", True), ("\xa0", True), ("\ue123", True), ("\ufdd0", True), ("\ud800", True),
])
def test_which_characters_do_not_stay(char: str, changed: bool) -> None:
    assert is_changed(char) is changed


@pytest.mark.parametrize("letters", [
    "\u0301\u0323", "\u0f73\u0301", "\u0344\u0345\u0327", "e\u0301\u0323\u05b0\u064b\u3099",
    "\U0001f600\u0301\U0001d165\u0323",
    "\u1e69\u0323\u0334", "\u1100\u1161\u11a8\u0323\u0301", "\u0958\u093c\u0301", "\U0002f800\u0323\U0001d15e",
])
def test_many_marks_are_put_in_order_as_nfc_does(letters: str) -> None:
    some = random.Random(3)
    for size in (33, 600, 1_500):
        for text in ("".join(some.choices(letters, k=size)), (letters * size)[:size]):
            assert to_nfc("x" * 600 + text) == unicodedata.normalize("NFC", "x" * 600 + text)


def test_a_text_of_marks_takes_linear_time() -> None:
    def seconds(size: int) -> float:
        began = time.process_time()
        to_nfc("a" + "\u0301\u0323\u0f73" * (size // 3))
        return time.process_time() - began

    seconds(3_000)
    assert seconds(960_000) < 160 * max(seconds(30_000), 0.01)  # 1,024 times if it were quadratic
