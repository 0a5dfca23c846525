from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from service.text.bpe_train import PRE_TOKEN, Level, Pair, Ties, Training, train
from tests.support.texts import unhurried

TEACHING = " ".join(
    ["low lower lowest newer newest wider widest"] * 50 + ["토큰 토큰화 토크나이저 토큰을 토큰이"] * 30
)


def ids(training: Training, text: str) -> list[int | None]:
    return [token for word in training.encode(text) for token in word.ids]


def learnt(training: Training) -> list[bytes]:
    return [token.spelled for token in training.vocabulary if token.pair is not None]


# ---------------------------------------------------------------- known answers


def test_the_teaching_corpus_gives_the_known_merges_and_ids() -> None:
    training = train(TEACHING, 20)
    assert learnt(training)[:10] == [
        b"we", b"lo", b"st", b" \xed", b" \xed\x86", b" \xed\x86\xa0", b" \xed\x86\xa0\xed", b" \xed\x86\xa0\xed\x81",
        b" lo", b" \xed\x86\xa0\xed\x81\xb0",
    ]
    assert (len(training.steps), training.stopped, len(training.vocabulary)) == (20, "merges", 276)
    assert ids(training, " lowest") == [266, 258]
    assert ids(training, "lowest") == [257, 256, 258]
    assert ids(training, " 토큰화") == [265, 237, 153, 148]


def test_bananas_and_bands_make_bandana() -> None:
    training = train("banana banana banana band band", 2)
    assert learnt(training) == [b"an", b"ban"]
    assert ids(training, "bandana") == [257, 100, 256, 97]
    (word,) = training.encode("bandana")
    assert [word.nodes[number].spelled for number in word.tokens] == [b"ban", b"d", b"an", b"a"]


def test_a_step_tells_the_counts_it_was_chosen_by() -> None:
    first, second = train("banana banana banana band band", 2, top=3).steps
    # b-an-an-a has an twice; the blank of all but the first word is a byte of it
    assert (first.pair, first.count, first.tied, first.new) == ((97, 110), 8, False, 256)
    assert first.pairs == (((97, 110), 8), ((110, 97), 6), ((98, 97), 5))
    assert (second.pair, second.count, second.pairs[0]) == ((98, 256), 5, ((98, 256), 5))
    assert (first.distinct_pairs, first.tokens, second.tokens) == (5, 30 - 8, 30 - 8 - 5)


def test_characters_end_words_with_a_mark() -> None:
    training = train("low low lower newer", 4, "character")
    assert [token.spelled + b"_" * token.ends_word for token in training.vocabulary] == [
        b"e", b"l", b"n", b"o", b"r", b"w", b"_", b"lo", b"low", b"low_", b"er",
    ]
    (word,) = training.encode("low")
    assert (word.ids, word.start, word.end, word.spelled) == ([9], 0, 3, b"low")
    assert ids(training, "lower") == [8, 10, 6]
    assert ids(training, "lux") == [1, None, None, 6]


def test_ties_go_to_the_pair_counted_first_or_to_the_lowest_ids() -> None:
    assert [step.pair for step in train("xy ab", 1).steps] == [(120, 121)]
    assert [step.pair for step in train("xy ab", 1, ties="lowest_ids").steps] == [(32, 97)]
    assert train("xy ab", 1).steps[0].tied
    assert not train("xyxy ab", 1).steps[0].tied


def test_training_ends_where_there_is_no_pair_left() -> None:
    training = train("ab", 10)
    assert (len(training.steps), training.stopped) == (1, "no_pairs")
    assert train("", 3).steps == ()
    assert train("  \n", 3, "character").steps == ()
    assert ids(train("", 3, "character"), "a b") == [None, 0, None, 0]


def test_runs_of_one_letter_merge_from_the_left() -> None:
    training = train("aaaaa", 3)
    assert [(step.pair, step.count) for step in training.steps] == [((97, 97), 4), ((256, 256), 1), ((257, 97), 1)]
    assert ids(training, "aaaaaaa") == [257, 256, 97]


# ---------------------------------------------------------------- the twin: recount everything before every step


def recount(corpus: str, merges: int, level: Level, ties: Ties) -> list[tuple[Pair, int, list[tuple[Pair, int]], int]]:
    """(pair, count, every pair best first, length of the corpus) of each step."""
    words: dict[str, int] = {}
    for word in PRE_TOKEN[level].findall(corpus):
        words[word] = words.get(word, 0) + 1
    letters = {char: number for number, char in enumerate(sorted({char for word in words for char in word}))}
    new = 256 if level == "byte" else len(letters) + 1
    rows = [
        ([*word.encode()] if level == "byte" else [*map(letters.__getitem__, word), len(letters)], count)
        for word, count in words.items()
    ]
    steps = []
    for made in range(new, new + merges):
        counts: dict[Pair, int] = {}
        for row, count in rows:
            for pair in pairwise(row):
                counts[pair] = counts.get(pair, 0) + count
        if not counts:
            break
        met = {pair: number for number, pair in enumerate(counts)}
        order = sorted(counts, key=lambda pair: (-counts[pair], met[pair] if ties == "first_counted" else 0, pair))
        for row, _ in rows:
            at = 0
            while at + 1 < len(row):
                if (row[at], row[at + 1]) == order[0]:
                    row[at : at + 2] = [made]
                at += 1
        length = sum(len(row) * count for row, count in rows)
        steps.append((order[0], counts[order[0]], [(pair, counts[pair]) for pair in order], length))
    return steps


corpora = st.one_of(
    st.text("ab ", max_size=40), st.text("a ", max_size=40), st.text("abcd 1\n가나!", max_size=60),
    st.lists(st.sampled_from(["low", "lower", "newest", "토큰", "토크", "aaa", "123"]), max_size=20).map(" ".join),
)


@unhurried
@given(corpora, st.sampled_from(["byte", "character"]), st.sampled_from(["first_counted", "lowest_ids"]))
def test_every_step_is_that_of_a_recount(corpus: str, level: Level, ties: Ties) -> None:
    training = train(corpus, 30, level, ties, top=7)
    twin = recount(corpus, 30, level, ties)
    assert [(step.pair, step.count, list(step.pairs), step.tokens) for step in training.steps] == [
        (pair, count, pairs[:7], length) for pair, count, pairs, length in twin
    ]
    assert [step.distinct_pairs for step in training.steps] == [len(pairs) for _, _, pairs, _ in twin]
    assert [step.tied for step in training.steps] == [
        len(pairs) > 1 and pairs[1][1] == count for _, count, pairs, _ in twin
    ]


# ---------------------------------------------------------------- Hugging Face's trainer


def hugging_face(words: list[str], alphabet: list[str], merges: int) -> Tokenizer:
    """Trained on words that are separated by U+FFFF, with `alphabet` as ids 0 and on."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Split("\uffff", "removed")
    trainer = trainers.BpeTrainer(
        vocab_size=len(alphabet) + merges, initial_alphabet=alphabet, limit_alphabet=len(alphabet), show_progress=False
    )
    tokenizer.train_from_iterator(["\uffff".join(words)], trainer)
    return tokenizer


@unhurried
@given(corpora, st.text("abcde 1가나", max_size=12))
def test_bytes_are_learnt_as_hugging_faces_trainer_learns_them(corpus: str, text: str) -> None:
    """It breaks ties by the lowest ids; bytes are given to it as the characters U+0000 to U+00FF."""
    training = train(corpus, 20, "byte", "lowest_ids")
    cut = [word.encode().decode("latin-1") for word in PRE_TOKEN["byte"].findall(corpus)]
    other = hugging_face(cut, [chr(byte) for byte in range(256)], 20)
    vocabulary = sorted(other.get_vocab().items(), key=lambda entry: entry[1])
    assert [(token.spelled.decode("latin-1"), number) for number, token in enumerate(training.vocabulary)] == vocabulary
    encoded = [
        token for word in PRE_TOKEN["byte"].findall(text) for token in other.encode(word.encode().decode("latin-1")).ids
    ]
    assert ids(training, text) == encoded


@unhurried
@given(corpora, st.text("abcd 1가", max_size=12))
def test_characters_are_learnt_as_hugging_faces_trainer_learns_them(corpus: str, text: str) -> None:
    """The mark at a word's end is given to it as U+E000, which no corpus here holds and which sorts last."""
    training = train(corpus, 20, "character", "lowest_ids")
    alphabet = [token.spelled.decode() for token in training.vocabulary if token.pair is None and not token.ends_word]
    other = hugging_face([f"{word}\ue000" for word in corpus.split()], [*alphabet, "\ue000"], 20)
    vocabulary = sorted(other.get_vocab().items(), key=lambda entry: entry[1])
    ours = [token.spelled.decode() + "\ue000" * token.ends_word for token in training.vocabulary]
    assert list(zip(ours, range(len(ours)), strict=True)) == vocabulary
    known = " ".join(word for word in text.split() if set(word) <= set(alphabet))
    encoded = [token for word in known.split() for token in other.encode(f"{word}\ue000").ids]
    assert ids(training, known) == encoded


def test_real_byte_level_training_of_hugging_face_agrees_where_nothing_is_tied() -> None:
    """With its own ByteLevel alphabet, whose ids are in another order: only the counts decide here."""
    corpus = " ".join(["hello"] * 13 + ["help"] * 7 + ["yell"] * 5 + ["shell"] * 3)
    training = train(corpus, 6)
    assert not any(step.tied for step in training.steps)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r" ?\p{L}+| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    trainer = trainers.BpeTrainer(
        vocab_size=262, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator([corpus], trainer)
    merged = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])[256:]
    assert [token.replace("Ġ", " ").encode() for token, _ in merged] == learnt(training)


# ---------------------------------------------------------------- encoding


@unhurried
@given(corpora, st.text("abcd 1\n가!", max_size=20), st.sampled_from(["byte", "character"]))
def test_what_is_encoded_is_the_text(corpus: str, text: str, level: Level) -> None:
    training = train(corpus, 15, level)
    words = training.encode(text)
    if level == "byte":
        spelled = b"".join(training.vocabulary[token].spelled for token in ids(training, text) if token is not None)
        assert spelled == text.encode() == b"".join(word.spelled for word in words)
    else:
        assert [word.spelled.decode() for word in words] == text.split()
    assert all(text[word.start : word.end].encode() == word.spelled for word in words)


# ---------------------------------------------------------------- time

LARGE = {
    "letters": lambda rng: "".join(rng.choices("abcdefghijklmnopqrstuvwxyz  ", k=50_000)),
    "two letters": lambda rng: "".join(rng.choices("ab", k=50_000)),
    "one letter": lambda rng: "a" * 50_000,
    "ideographs": lambda rng: "".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(50_000)),
}


@pytest.mark.parametrize("level", ["byte", "character"])
@pytest.mark.parametrize("kind", LARGE)
def test_the_largest_corpus_is_learnt_in_time(kind: str, level: Level) -> None:
    corpus = LARGE[kind](random.Random(7))
    began = time.process_time()
    training = train(corpus, 1_000, level, top=100)
    assert time.process_time() - began < 5
    assert training.steps
