#pragma once
/* A text cut between characters that stand side by side in no token, and around added tokens. */
#include "text.h"

static int is_beside(u32 first, u32 second) {
    if ((first | second) < 0x80) return tables.beside[first << 4 | second >> 3] >> (second & 7) & 1;
    u32 bit = (u32)(((u64)first << 21 | second) * 0x9E3779B97F4A7C15ull >> (64 - BESIDE_BITS));
    return tables.beside_bits[bit >> 3] >> (bit & 7) & 1;
}

static int compare_added(const u8 *entry, const u8 *word, u32 length) {
    for (u32 i = 0; i < ADDED_BYTES; i++) {
        u32 byte = i < length ? word[i] : 0;
        if (entry[i] != byte) return entry[i] < byte ? -1 : 1;
    }
    return 0;
}

/* Length of the added token at i: it begins in < or [, ends in the first > or ] and is shorter than ADDED_BYTES. */
static u32 tag; /* which it was */

static u32 added_at(u32 i) {
    u8 end = text[i] == '<' ? '>' : ']';
    u32 length = 1;
    while (i + length < size && text[i + length] != end) {
        if (++length == ADDED_BYTES) return 0;
    }
    if (i + length++ == size) return 0;
    u32 low = 0, high = tables.added_count;
    while (low < high) {
        u32 middle = (low + high) / 2;
        int order = compare_added(tables.added + middle * ADDED_BYTES, text + i, length);
        if (!order) return tag = middle, length;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return 0;
}

/* Bytes of the added tokens at i, and how many they are: a tag, or a run of one blank. */
static u32 whole_at(u32 i, u32 here, u32 bytes, u32 *tokens) {
    *tokens = 1;
    if (here == '<' || here == '[') return added_at(i);
    if (here != '\n' && here != '\t' && here != LOW_LINE) return 0;
    u32 run = 0, step;
    while (i + run * bytes < size && read_character(text + i + run * bytes, &step) == here) run++;
    *tokens = (run + LONGEST_BLANK - 1) / LONGEST_BLANK;
    if (here == LOW_LINE && run % LONGEST_BLANK == 1) {
        --*tokens;
        --run;
    }
    return run * bytes;
}

static void write_whole(u32 here, u32 whole, u32 bytes) {
    if (here == '<' || here == '[') {
        *next_id++ = tables.added_ids[tag];
        return;
    }
    u32 kind = here == '\n' ? 0 : here == '\t' ? 1 : 2;
    const u32 *of_runs = tables.added_ids + tables.added_count + kind * (LONGEST_BLANK + 1);
    for (u32 left = whole / bytes, length; left; left -= length) {
        length = left < LONGEST_BLANK ? left : LONGEST_BLANK;
        *next_id++ = of_runs[length];
    }
}

static void count_between_characters(void) {
    u32 start = 0, before = 0, tokens;
    for (u32 i = 0, bytes; i < size; i += bytes) {
        if (i > start && before < 0x80) {
            while (goes_on[before << 5 | text[i] >> 3] >> (text[i] & 7) & 1) before = text[i++];
            if (i == size) break;
        }
        u32 here = read_character(text + i, &bytes);
        u32 whole = whole_at(i, here, bytes, &tokens);
        u32 written = here;
        if (here == LOW_LINE) here = ' ';
        if (i > start && (whole || !is_beside(before, here))) {
            if (!add(start, i)) return;
            start = i;
        }
        if (whole) {
            if (!add_whole(i + whole, tokens)) return;
            if (next_id) write_whole(written, whole, bytes);
            start = i + whole;
            bytes = whole;
        }
        before = here;
    }
    if (start < size) add(start, size);
}
