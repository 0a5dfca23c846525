#pragma once
/* NFKC: characters are taken apart, their marks put in order, and what composes is composed. */
#include "patterns.h"

/* A stretch of code points that only change together, each with its combining class << 24; behind them as much room. */
static u32 *stretch;
static u32 stretch_count;

static u32 class_of(u32 code_point) {
    u32 place = find_sorted(tables.marks, tables.mark_count, code_point);
    return place == NONE ? 0 : tables.marks[tables.mark_count + place];
}

static void append(u32 code_point) { stretch[stretch_count++] = class_of(code_point) << 24 | code_point; }

#define CODE_POINT 0x1FFFFF
#define FIRST_SYLLABLE 0xAC00 /* of Hangul: 19 leading consonants, 21 vowels, 27 trailing consonants or none */
#define SYLLABLES 11172
#define LEADING 0x1100
#define VOWEL 0x1161
#define TRAILING 0x11A8

/* Appends a character as NFKD has it. */
static void append_decomposed(u32 code_point) {
    u32 syllable = code_point - FIRST_SYLLABLE;
    if (syllable < SYLLABLES) {
        append(LEADING + syllable / (21 * 28));
        append(VOWEL + syllable / 28 % 21);
        if (syllable % 28) append(TRAILING - 1 + syllable % 28);
        return;
    }
    u32 place = find_sorted(tables.composed, tables.composed_count, code_point);
    if (place == NONE) {
        append(code_point);
        return;
    }
    const u32 *starts = tables.composed + tables.composed_count + place;
    for (u32 from = starts[0], bytes; from < starts[1]; from += bytes) {
        append(read_character(tables.decomposed + from, &bytes));
    }
}

/* Puts marks in the order of their classes; those of one class stay in theirs. */
static void sort_marks(u32 *run, u32 count) {
    static u32 starts[257];
    if (count <= 16) {
        for (u32 i = 1; i < count; i++) {
            u32 mark = run[i], at = i;
            for (; at && run[at - 1] >> 24 > mark >> 24; at--) run[at] = run[at - 1];
            run[at] = mark;
        }
        return;
    }
    u32 *sorted = stretch + stretch_count;
    for (u32 i = 0; i < 257; i++) starts[i] = 0;
    for (u32 i = 0; i < count; i++) starts[(run[i] >> 24) + 1]++;
    for (u32 i = 1; i < 257; i++) starts[i] += starts[i - 1];
    for (u32 i = 0; i < count; i++) sorted[starts[run[i] >> 24]++] = run[i];
    for (u32 i = 0; i < count; i++) run[i] = sorted[i];
}

static void sort_stretch(void) {
    for (u32 i = 0, end; i < stretch_count; i = end + 1) {
        for (end = i; end < stretch_count && stretch[end] >> 24; end++) {}
        sort_marks(stretch + i, end - i);
    }
}

/* What two code points are together, NONE where they do not compose. */
static u32 find_composite(u32 first, u32 second) {
    if (first - LEADING < 19 && second - VOWEL < 21) {
        return FIRST_SYLLABLE + ((first - LEADING) * 21 + second - VOWEL) * 28;
    }
    u32 syllable = first - FIRST_SYLLABLE;
    if (syllable < SYLLABLES && syllable % 28 == 0 && second - TRAILING < 27) return first + second - TRAILING + 1;
    const u32 *seconds = tables.first_parts + tables.composite_count, *composites = seconds + tables.composite_count;
    u32 at = find_sorted(tables.first_parts, tables.composite_count, first);
    for (; at < tables.composite_count && tables.first_parts[at] == first; at++) {
        if (seconds[at] == second) return composites[at];
    }
    return NONE;
}

/* A mark composes with the last character of class 0 before it if no other of its class or a higher one stands between
 * them, and a character of class 0 if nothing does. */
static void compose_stretch(void) {
    u32 made = 0, starter = NONE;
    for (u32 i = 0; i < stretch_count; i++) {
        u32 class = stretch[i] >> 24, before = made ? stretch[made - 1] >> 24 : 0;
        if (starter != NONE && (made - 1 == starter || before < class)) {
            u32 composite = find_composite(stretch[starter] & CODE_POINT, stretch[i] & CODE_POINT);
            if (composite != NONE) {
                stretch[starter] = composite;
                continue;
            }
        }
        if (!class) starter = made;
        stretch[made++] = stretch[i];
    }
    stretch_count = made;
}

static u32 write_character(u8 *to, u32 c) {
    if (c < 0x80) return to[0] = (u8)c, 1;
    u32 bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (u32 i = bytes - 1; i; i--, c >>= 6) to[i] = (u8)(0x80 | (c & 0x3F));
    to[0] = (u8)(0xF00 >> bytes | c);
    return bytes;
}

/* Where in the normalized text the last character begins that what follows may still change. */
static u32 settled;

/* The record of the character at i, its code point and its bytes. */
static u32 record_at(u32 i, u32 *code_point, u32 *bytes) {
    u32 record = byte_kinds[text[i]];
    *code_point = read_character(text + i, bytes);
    return record == NO_KIND ? record_of(*code_point) : record;
}

/* Makes the text its normalized rest from `done` on, written at `to`, which has room for MAX_GROWTH times as many bytes;
 * behind that is room for the code points of a stretch. */
static void normalize(u32 done, u8 *to) {
    u32 made = 0, last = 0, bytes, code_point; /* `last`: where the last character begins */
    stretch = (u32 *)(((u32)to + MAX_GROWTH * size + 2 * LOOK_AHEAD) & ~7u);
    while (done < size) {
        for (; done + 8 <= size && !(*(const any_u64 *)(text + done) & 0x8080808080808080ull); done += 8, made += 8) {
            *(any_u64 *)(to + made) = *(const any_u64 *)(text + done);
            last = made + 7;
        }
        if (done == size) break;
        u32 record = record_at(done, &code_point, &bytes);
        if (record <= KIND) {
            last = made;
            for (u32 i = 0; i < bytes; i++) to[made++] = text[done++];
            continue;
        }
        stretch_count = 0;
        if (record & JOINS) { /* with the character before it */
            u32 ignored;
            if (made) append_decomposed(read_character(to + last, &ignored));
            made = last;
        } else {
            append_decomposed(code_point);
            last = made;
            done += bytes;
        }
        for (; done < size && record_at(done, &code_point, &bytes) & JOINS; done += bytes) append_decomposed(code_point);
        sort_stretch();
        compose_stretch();
        for (u32 i = 0; i < stretch_count; i++) made += write_character(to + made, stretch[i] & CODE_POINT);
    }
    settled = last;
    to[made] = STOP;
    text = to;
    size = made;
    is_normal = 1;
}
