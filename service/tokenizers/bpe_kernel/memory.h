#pragma once
/* Remembers the tokens of words, so that a word is merged when it comes for the first time only. */
#include "merging.h"

/* Recent words. Most are short: 14 bytes filled up with zeros, the length, the tokens; a set of four of them is a
 * line of the processor's cache. */
#define SETS 16384
#define LONGEST_SHORT 14
static u64 sets[SETS][8] __attribute__((aligned(64)));

/* Longer ones, indents and ruled lines: length << 16 | tokens, then the bytes filled up with zeros. */
#define LONG_SLOTS 8192
#define LONG_NUMBERS 15
static u64 long_slots[LONG_SLOTS][1 + LONG_NUMBERS] __attribute__((aligned(64)));

/* The tokens at `place` of a set, which changes places with the one before: words that come often are found first. */
static u32 found_at(u64 *set, u32 place) {
    u64 low = set[place], high = set[place + 1];
    if (place) {
        set[place] = set[place - 2];
        set[place + 1] = set[place - 1];
        set[place - 2] = low;
        set[place - 1] = high;
    }
    return (u32)(high >> 56);
}

static u32 tokens_of_short(const u8 *word, u32 length) {
    u64 low = up_to_8(word, length), high = (u64)length << 48;
    if (length > 8) high |= up_to_8(word + 8, length - 8);
    u64 *set = sets[(u32)(mix(low, high) >> 40) % SETS];
    for (u32 i = 0; i < 8; i += 2) {
        if (set[i] == low && set[i + 1] << 8 == high << 8) return found_at(set, i);
    }
    u32 tokens = merge_word(word, length);
    for (u32 i = 7; i > 1; i--) set[i] = set[i - 2]; /* the last one is dropped */
    set[0] = low;
    set[1] = high | (u64)tokens << 56;
    return tokens;
}

static u32 tokens_of_long(const u8 *word, u32 length) {
    u64 key[LONG_NUMBERS], hash = length;
    u32 numbers = (length + 7) / 8;
    for (u32 i = 0; i < numbers; i++) {
        key[i] = up_to_8(word + 8 * i, length - 8 * i);
        hash = mix(hash, key[i]);
    }
    u64 *slot = long_slots[(u32)(hash >> 40) % LONG_SLOTS];
    int is_same = slot[0] >> 16 == length;
    for (u32 i = 0; i < numbers && is_same; i++) is_same = slot[1 + i] == key[i];
    if (is_same) return slot[0] & 0xFFFF;
    u32 tokens = merge_word(word, length);
    slot[0] = (u64)length << 16 | tokens;
    for (u32 i = 0; i < numbers; i++) slot[1 + i] = key[i];
    return tokens;
}

/* Tokens of a word; NONE where it cannot be merged. Bytes behind the text may be read, but do not matter. */
static u32 tokens_of(const u8 *word, u32 length) {
    if (next_id) return merge_word(word, length);
    if (length <= LONGEST_SHORT) return tokens_of_short(word, length);
    return length <= 8 * LONG_NUMBERS ? tokens_of_long(word, length) : merge_word(word, length);
}
