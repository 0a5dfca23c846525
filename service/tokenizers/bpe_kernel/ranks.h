#pragma once
/* Which neighbours merge, and when: by a list of pairs, or by ranks. */
#include "tables.h"

static u32 home_of(u64 key) { return (u32)(((key * 0x9E3779B97F4A7C15ull >> 32) * tables.pair_slots) >> 32); }

static u32 next_slot(u32 at) { return at + 1 == tables.pair_slots ? 0 : at + 1; }

/* Fills the empty `pairs`. `sides` are the left id of every merge in order of rank, then the right ids. */
EXPORT("build_pairs") void build_pairs(const u32 *sides, u32 merges) {
    for (u32 rank = 0; rank < merges; rank++) {
        u64 key = (u64)sides[rank] << 18 | sides[merges + rank];
        u32 at = home_of(key);
        while (tables.pairs[at]) at = next_slot(at);
        tables.pairs[at] = key << 20 | (rank + 1);
    }
}

static u32 rank_of(u32 left, u32 right) {
    u64 key = (u64)left << 18 | right;
    for (u32 at = home_of(key);; at = next_slot(at)) {
        u64 slot = tables.pairs[at];
        if (!slot) return NONE;
        if (slot >> 20 == key) return (u32)(slot & 0xFFFFF) - 1;
    }
}

/* ---------------------------------------------------------------- tokens by their bytes */

static int is_by_ranks(void) { return tables.scheme >= CL100K; }

/* The first up to 8 of so many bytes as a number; 8 bytes are read. */
static u64 up_to_8(const u8 *word, u32 length) {
    u64 all = *(const any_u64 *)word;
    return length >= 8 ? all : all & ((1ull << 8 * length) - 1);
}

static u64 mix(u64 hash, u64 number) {
    hash = (hash ^ number) * 0x9E3779B97F4A7C15ull;
    return (hash ^ hash >> 32) * 0xD6E8FEB86659FD93ull;
}

static u32 longest_token;

static u32 home_of_token(const u8 *token, u32 length) {
    u64 hash = length;
    for (u32 i = 0; i < length; i += 8) hash = mix(hash, up_to_8(token + i, length - i));
    return home_of(hash);
}

static int is_token(u64 slot, const u8 *token, u32 length) {
    if ((slot & 0xFF) != length) return 0;
    const u8 *known = tables.tokens + (slot >> 32);
    for (u32 i = 0; i < length; i += 8) {
        if (up_to_8(known + i, length - i) != up_to_8(token + i, length - i)) return 0;
    }
    return 1;
}

/* The rank of a token, NONE if it is none. */
static u32 rank_of_token(const u8 *token, u32 length) {
    if (length == 2) return tables.twos[token[0] << 8 | token[1]] - 1;
    if (length > longest_token) return NONE;
    for (u32 at = home_of_token(token, length);; at = next_slot(at)) {
        u64 slot = tables.pairs[at];
        if (!slot) return NONE;
        if (is_token(slot, token, length)) return (u32)slot >> 8;
    }
}

static u32 sextet(u8 c) {
    if (c >= 'a') return c - 'a' + 26;
    if (c >= 'A') return c - 'A';
    return c >= '0' ? c - '0' + 52u : c == '+' ? 62 : 63;
}

/* Fills the empty `pairs` and `tokens` from lines of base64, a blank, the rank. Returns the number of tokens, 0 where
 * one is too long to be kept, or a line is not of this form, or a rank not the number of the line. */
EXPORT("build_ranks") u32 build_ranks(const u8 *lines, u32 length) {
    u32 made = 0, count = 0;
    for (u32 i = 0; i < length; i++, count++) {
        u32 start = made, bits = 0, held = 0, rank = 0;
        for (; i < length && lines[i] > ' '; i++) {
            if (lines[i] == '=') continue;
            bits = (bits << 6 | sextet(lines[i])) & 0xFFFF;
            held += 6;
            if (held >= 8) tables.tokens[made++] = (u8)(bits >> (held -= 8));
        }
        if (i == length || lines[i] != ' ') return 0;
        while (++i < length && lines[i] >= '0' && lines[i] <= '9') rank = rank * 10 + lines[i] - '0';
        u32 bytes = made - start;
        if (!bytes || bytes > 0xFF || rank != count || rank >= 1 << 24 || (i < length && lines[i] != '\n')) return 0;
        if (bytes > longest_token) longest_token = bytes;
        tables.token_starts[rank] = start;
        tables.token_starts[rank + 1] = made;
        u32 at = home_of_token(tables.tokens + start, bytes);
        while (tables.pairs[at]) at = next_slot(at);
        tables.pairs[at] = (u64)start << 32 | rank << 8 | bytes;
        const u8 *token = tables.tokens + start;
        if (bytes == 2) tables.twos[token[0] << 8 | token[1]] = rank + 1;
    }
    return count;
}

/* Of a copy: what `build_ranks` found. */
EXPORT("set_longest_token") void set_longest_token(u32 bytes) { longest_token = bytes; }
EXPORT("get_longest_token") u32 get_longest_token(void) { return longest_token; }
