#pragma once
/* A text cut by the pattern of GPT-2, cl100k or o200k: where the unit that begins at a place ends. */
#include "text.h"

/* Whether NFKC was made sure of, and whether a character was met that it does not leave alone. */
static int is_normal;
static int met_change;

static u32 kind_at(u32 i, u32 *bytes) {
    u32 kind = byte_kinds[text[i]];
    if (kind != NO_KIND) return *bytes = bytes_of(text[i]), kind;
    u32 record = record_of(read_character(text + i, bytes));
    if (record > KIND && !is_normal) met_change = 1;
    return record & KIND;
}

#define IS(kind) (1u << (kind))
#define LETTERS (IS(UPPER) | IS(LOWER) | IS(CASELESS))
#define NOT_LOWER (IS(UPPER) | IS(CASELESS) | IS(MARK))
#define NOT_UPPER (IS(LOWER) | IS(CASELESS) | IS(MARK))
#define BLANKS (IS(SPACE) | IS(NEWLINE))
#define SIGNS (IS(MARK) | IS(OTHER))

/* Whether the end of the block was looked at: where a unit ends may then depend on what follows. */
static int ran_out;

/* Whether the character at i is of one of these kinds. */
static int is_of(u32 i, u32 kinds, u32 *bytes) {
    if (i < size) return kinds >> kind_at(i, bytes) & 1;
    ran_out = 1;
    return 0;
}

/* Where a run of these kinds, perhaps an empty one, ends. */
static u32 skip(u32 i, u32 kinds) {
    for (u32 bytes;; i += bytes) {
        while (kinds >> ascii_kinds[text[i]] & 1) i++;
        if (!is_of(i, kinds, &bytes)) return i;
    }
}

/* ---------------------------------------------------------------- GPT-2 */

/* Length of the suffix of a contraction behind the apostrophe at i, 0 where there is none. */
static u32 suffix_at(u32 i) {
    if (i + 1 == size) return 0;
    u8 one = text[i + 1], two = i + 2 < size ? text[i + 2] : 0;
    if (one == 's' || one == 't' || one == 'd' || one == 'm') return 1;
    return (one == 'l' && two == 'l') || ((one == 'r' || one == 'v') && two == 'e') ? 2 : 0;
}

/* Where the blanks that begin at i end as one unit: before the last of them if a visible character follows. */
static u32 end_of_gpt2_blanks(u32 i) {
    u32 first = i, last = i, bytes;
    while (i < size && kind_at(i, &bytes) == SPACE) {
        last = i;
        i += bytes;
    }
    return i == size || last == first ? i : last;
}

static u32 end_of_gpt2_unit(u32 i) {
    u32 bytes;
    u32 suffix = text[i] == '\'' ? suffix_at(i) : 0;
    if (suffix) {
        i += 1 + suffix;
        if (i < size) kind_at(i, &bytes); /* a mark there may change the suffix */
        return i;
    }
    u32 kind = kind_at(i, &bytes);
    if (text[i] == ' ' && i + 1 < size && kind_at(i + 1, &bytes) != SPACE) kind = kind_at(++i, &bytes);
    if (kind == SPACE) return end_of_gpt2_blanks(i);
    for (i += bytes; i < size; i += bytes) {
        while (ascii_kinds[text[i]] == kind) i++;
        if (i == size || kind_at(i, &bytes) != kind) break;
    }
    return i;
}

/* ---------------------------------------------------------------- cl100k */

static u8 small(u8 c) { return c >= 'A' && c <= 'Z' ? c | 0x20 : c; }

/* Bytes of a contraction at i, an apostrophe and a suffix in any case; 0 where there is none. A long s is an s. */
static u32 contraction_at(u32 i) {
    if (i + 1 >= size || text[i] != '\'') return 0;
    u8 one = small(text[i + 1]), two = i + 2 < size ? small(text[i + 2]) : 0;
    if (one == 's' || one == 't' || one == 'd' || one == 'm') return 2;
    if ((one == 'l' && two == 'l') || ((one == 'r' || one == 'v') && two == 'e')) return 3;
    return one == 0xC5 && two == 0xBF ? 3 : 0;
}

static u32 end_of_numbers(u32 i) {
    u32 bytes;
    for (u32 count = 0; count < 3 && is_of(i, IS(NUMBER), &bytes); count++) i += bytes;
    return i;
}

/* Blanks up to the last newline among them; if there is none, but for the last one before a visible character. With
 * `whole_at_end`, all of them at the end of the text. */
static u32 end_of_blanks(u32 i, int whole_at_end) {
    u32 first = i, last = i, newline = 0, bytes;
    for (u32 kind; is_of(i, BLANKS, &bytes); i += bytes) {
        kind = kind_at(i, &bytes);
        last = i;
        if (kind == NEWLINE) newline = i + bytes;
    }
    if (i == size && whole_at_end) return i;
    if (newline) return newline;
    return i == size || last == first ? i : last;
}

static u32 end_of_cl100k_unit(u32 i) {
    u32 bytes, contraction = contraction_at(i);
    if (contraction) return i + contraction;
    u32 kind = kind_at(i, &bytes);
    if (kind == NUMBER) return end_of_numbers(i);
    u32 letters = IS(kind) & LETTERS ? i : i + bytes;
    if (kind != NEWLINE && is_of(letters, LETTERS, &bytes)) return skip(letters, LETTERS);
    u32 signs = text[i] == ' ' ? i + 1 : i;
    if (is_of(signs, SIGNS, &bytes)) return skip(skip(signs, SIGNS), IS(NEWLINE));
    return end_of_blanks(i, 1);
}

/* ---------------------------------------------------------------- o200k */

/* Letters from i on: none but small ones behind the first small one. Where there is no small one they end behind the
 * last that has no case, since small ones or such must end them; 0 where that is none, too. */
static u32 end_of_cased(u32 i) {
    u32 caseless = 0, bytes;
    while (is_of(i, NOT_LOWER, &bytes)) {
        int is_upper = kind_at(i, &bytes) == UPPER;
        i += bytes;
        if (!is_upper) caseless = i;
    }
    return is_of(i, IS(LOWER), &bytes) ? skip(i, NOT_UPPER) : caseless;
}

/* A word with the character before it and the contraction behind it; 0 where none begins at i. */
static u32 end_of_word(u32 i) {
    u32 bytes, kind = kind_at(i, &bytes);
    if (kind == NUMBER || kind == NEWLINE) return 0;
    u32 start = IS(kind) & LETTERS ? i : i + bytes;
    u32 end = end_of_cased(start);
    if (!end && kind == MARK) end = start; /* a mark is a word by itself, too */
    if (!end) {
        end = skip(start, NOT_LOWER);
        if (end == start) return 0;
    }
    return end + contraction_at(end);
}

static u32 end_of_o200k_unit(u32 i) {
    u32 bytes, word = end_of_word(i);
    if (word) return word;
    if (kind_at(i, &bytes) == NUMBER) return end_of_numbers(i);
    u32 signs = text[i] == ' ' ? i + 1 : i;
    if (!is_of(signs, SIGNS, &bytes)) return end_of_blanks(i, 0);
    for (i = skip(signs, SIGNS); i < size && (text[i] == '\r' || text[i] == '\n' || text[i] == '/');) i++;
    if (i == size) ran_out = 1;
    return i;
}

static u32 end_of_unit(u32 i) {
    switch (tables.scheme) {
        case GPT2: return end_of_gpt2_unit(i);
        case CL100K: return end_of_cl100k_unit(i);
        default: return end_of_o200k_unit(i);
    }
}
