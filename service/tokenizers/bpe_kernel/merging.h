#pragma once
/* Byte-pair merging of one word. */
#include "ranks.h"

/* A word as a chain of symbols; `ranks` is of a symbol with the next. Words of more symbols are the host's. */
#define LONGEST_WORD 65536
static u32 ids[LONGEST_WORD]; /* by ranks: where each symbol begins in the word */
static u32 ranks[LONGEST_WORD];
static u32 nexts[LONGEST_WORD];
static u32 befores[LONGEST_WORD];
static const u8 *merged; /* the word */
static u32 merged_size;

/* A heap of rank << 32 | place. An entry whose rank is no longer that of its place is stale. */
static u64 heap[3 * LONGEST_WORD];
static u32 waiting;

static void wait(u32 rank, u32 place) {
    if (rank == NONE) return;
    u64 entry = (u64)rank << 32 | place;
    u32 at = waiting++;
    while (at && heap[(at - 1) / 2] > entry) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = entry;
}

static u64 take(void) {
    u64 first = heap[0], last = heap[--waiting];
    u32 at = 0;
    for (u32 child; (child = 2 * at + 1) < waiting; at = child) {
        if (child + 1 < waiting && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= last) break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return first;
}

/* Rank of the symbol at `place` with the one at `next`, behind which comes the one at `after`, or nothing. */
static u32 rank_of_both(u32 place, u32 next, u32 after) {
    if (!is_by_ranks()) return rank_of(ids[place], ids[next]);
    return rank_of_token(merged + ids[place], (after == NONE ? merged_size : ids[after]) - ids[place]);
}

static void make(u32 place, u32 rank) {
    if (!is_by_ranks()) ids[place] = tables.made[rank];
}

static void rank_again(u32 place) {
    ranks[place] = nexts[place] == NONE ? NONE : rank_of_both(place, nexts[place], nexts[nexts[place]]);
    wait(ranks[place], place);
}

/* Merges `count` symbols in a chain, lowest rank first and leftmost among equals; returns how many are left. */
static u32 merge_chain(u32 count) {
    u32 left = count;
    waiting = 0;
    for (u32 i = 0; i < count; i++) {
        nexts[i] = i + 1 < count ? i + 1 : NONE;
        befores[i] = i ? i - 1 : NONE;
    }
    for (u32 i = 0; i < count; i++) rank_again(i);
    while (waiting) {
        u64 entry = take();
        u32 place = (u32)entry, rank = (u32)(entry >> 32);
        if (ranks[place] != rank) continue;
        u32 gone = nexts[place];
        make(place, rank);
        nexts[place] = nexts[gone];
        if (nexts[gone] != NONE) befores[nexts[gone]] = place;
        ranks[gone] = NONE;
        left--;
        rank_again(place);
        if (befores[place] != NONE) rank_again(befores[place]);
    }
    return left;
}

/* The same for a short row, without a heap. */
#define SHORT_WORD 32

static u32 rank_in_row(u32 place, u32 count) {
    return rank_of_both(place, place + 1, place + 2 < count ? place + 2 : NONE);
}

static u32 merge_row(u32 count) {
    for (u32 i = 0; i + 1 < count; i++) ranks[i] = rank_in_row(i, count);
    while (count > 1) {
        u32 place = 0;
        for (u32 i = 1; i + 1 < count; i++) place = ranks[i] < ranks[place] ? i : place;
        if (ranks[place] == NONE) break;
        make(place, ranks[place]);
        count--;
        for (u32 i = place + 1; i < count; i++) {
            ids[i] = ids[i + 1];
            ranks[i] = ranks[i + 1];
        }
        if (place) ranks[place - 1] = rank_in_row(place - 1, count);
        if (place + 1 < count) ranks[place] = rank_in_row(place, count);
    }
    return count;
}

static u32 find_character(u32 code_point) {
    u32 low = 0, high = tables.character_count;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (tables.characters[middle] < code_point) low = middle + 1;
        else high = middle;
    }
    if (low == tables.character_count || tables.characters[low] != code_point) return NONE;
    return tables.characters[tables.character_count + low];
}

/* Writes the symbols that merging starts from into `ids`; returns their number, NONE for too many. */
static u32 spell(const u8 *word, u32 length) {
    u32 count = 0;
    for (u32 i = 0, bytes; i < length; i += bytes) {
        if (count + 4 > LONGEST_WORD) return NONE;
        u32 id = NONE;
        bytes = 1;
        if (is_by_ranks()) {
            ids[count++] = i;
            continue;
        }
        if (tables.scheme == BETWEEN_CHARACTERS) id = find_character(read_character(word + i, &bytes));
        if (id != NONE) ids[count++] = id;
        else for (u32 j = 0; j < bytes; j++) ids[count++] = tables.byte_ids[word[i + j]];
    }
    return count;
}

/* Where the next id goes; 0 while tokens are only counted. */
static u32 *next_id;

static void write_id(u32 place, u32 after) {
    *next_id++ = is_by_ranks() ? rank_of_both(place, after, after) : ids[place];
}

static u32 merge_word(const u8 *word, u32 length) {
    merged = word;
    merged_size = length;
    u32 whole = is_by_ranks() ? rank_of_token(word, length) : NONE;
    if (whole != NONE) { /* even one that no merging makes */
        if (next_id) *next_id++ = whole;
        return 1;
    }
    u32 count = spell(word, length);
    if (count == NONE) return NONE;
    int is_row = count <= SHORT_WORD;
    u32 left = is_row ? merge_row(count) : merge_chain(count);
    if (next_id && is_row) {
        for (u32 i = 0; i < left; i++) write_id(i, i + 1 < left ? i + 1 : NONE);
    } else if (next_id) {
        for (u32 i = 0; i != NONE; i = nexts[i]) write_id(i, nexts[i]);
    }
    return left;
}
