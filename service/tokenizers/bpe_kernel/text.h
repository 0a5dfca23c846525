#pragma once
/* The block of a text that is being counted. */
#include "memory.h"

static const u8 *text;
static u32 size;
#define STOP 0xFF /* stands behind the text, so that a search for ASCII ends there */
static u32 certain; /* a unit that ends beyond here may go on behind the block */
static u32 total;
static u32 consumed;

#define LOOK_AHEAD 64 /* bytes behind a unit that decide where it ends: fewer than these */

static void set_certain(int last) { certain = last ? size : size > LOOK_AHEAD ? size - LOOK_AHEAD : 0; }

/* Counts the unit from..to; returns whether the next may follow. */
static int add(u32 from, u32 to) {
    if (to > certain) return 0;
    u32 tokens = tokens_of(text + from, to - from);
    if (tokens == NONE) {
        total = NONE;
        return 0;
    }
    total += tokens;
    consumed = to;
    return 1;
}

/* Counts an added token, or a run of newlines or tabs, of so many tokens. */
static int add_whole(u32 to, u32 tokens) {
    if (to > certain) return 0;
    total += tokens;
    consumed = to;
    return 1;
}
