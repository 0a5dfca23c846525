#pragma once
/* What the host gives, and how it is looked up. */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef u64 __attribute__((aligned(1), may_alias)) any_u64;

#define EXPORT(name) __attribute__((export_name(name)))
#define NONE 0xFFFFFFFFu

/* ---------------------------------------------------------------- tables */

/* How a text is cut: between characters that stand side by side in no token, or by the pattern of GPT-2, cl100k or
 * o200k. The last two merge by ranks: any neighbours that are a token together; the others by a list of pairs. */
enum scheme { BETWEEN_CHARACTERS, GPT2, CL100K, O200K };

/* Written by the host; pointers are offsets into linear memory. */
struct tables {
    u32 scheme;
    u64 *pairs;            /* open addressing: left << 38 | right << 20 | rank + 1; or, by ranks: a token's place in
                              `tokens` << 32 | rank << 8 | length; 0 where free */
    u32 pair_slots;
    const u32 *made;       /* by rank of a pair: the id that the merge makes */
    u8 *tokens;            /* by ranks: the bytes of all tokens */
    u32 *token_starts;     /* by ranks: where in `tokens` the token of each rank begins, and all end */
    u32 *twos;             /* by ranks: those of the tokens of two bytes, by first * 256 + second, and 1; 0 for none */
    const u32 *byte_ids;   /* of the 256 bytes */
    const u32 *characters; /* BETWEEN_CHARACTERS: the code points that are tokens, in order, then their ids */
    u32 character_count;
    const u8 *beside;      /* bits: whether two ASCII characters stand side by side in a token, by first * 128 + second */
    const u8 *beside_bits; /* the same for all others by BESIDE_BITS of a hash: a set bit may be of another pair */
    const u8 *added;       /* added tokens in order, ADDED_BYTES each, filled up with zeros */
    u32 added_count;
    const u32 *added_ids;  /* of those; then of runs of newlines, tabs, U+2581 of 0, 1, 2, ... LONGEST_BLANK */
    const u16 *kind_pages; /* of a pattern: kinds[kind_pages[code point / 64] * 64 + code point % 64] */
    const u8 *kinds;
    const u32 *composed;   /* for NFKC: the code points that NFKD takes apart, in order; then where in `decomposed`
                              their bytes begin, and all end */
    u32 composed_count;
    const u8 *decomposed;
    const u32 *marks;      /* the code points that have a combining class, in order; then their classes */
    u32 mark_count;
    const u32 *first_parts; /* of all pairs that compose: the first one, in order; then the seconds; then the composites */
    u32 composite_count;
};

/* What a pattern takes a character for (GPT-2's: all letters are CASELESS, marks OTHER, newlines SPACE); and what NFKC
 * may do to it: it CHANGES the character, wherever it stands; or perhaps JOINS it to what stands before it. */
enum kind { UPPER, LOWER, CASELESS, MARK, NUMBER, SPACE, NEWLINE, OTHER, KIND = 7, CHANGES = 8, JOINS = 16 };

#define MAX_GROWTH 11 /* times its bytes that NFKC makes of a character (U+FDFA) */
#define BESIDE_BITS 20
#define ADDED_BYTES 16
#define LONGEST_BLANK 31 /* of the longest run of newlines, tabs or U+2581 that is an added token; as are all shorter */
#define LOW_LINE 0x2581  /* a blank inside a token; but a single one in a text is no added token */

static struct tables tables;

/* The tables in a form that is quicker to read. By the first byte of a character: the kind of all that begin with it,
 * NO_KIND where they differ or NFKC does not leave them alone. The kind of ASCII, NOT_ASCII from 128 on. By first * 256 +
 * second of two ASCII characters: whether they stand side by side in a token and the second begins no added token. */
#define NO_KIND 0xFF
#define NOT_ASCII 31
static u8 byte_kinds[256];
static u8 ascii_kinds[256];
static u8 goes_on[128 * 256 / 8];

/* Reads the character at text[0]; valid UTF-8 is the host's promise. */
static u32 read_character(const u8 *text, u32 *bytes) {
    u32 first = text[0];
    if (first < 0x80) return *bytes = 1, first;
    if (first < 0xE0) return *bytes = 2, (first & 0x1F) << 6 | (text[1] & 0x3F);
    if (first < 0xF0) return *bytes = 3, (first & 0x0F) << 12 | (text[1] & 0x3F) << 6 | (text[2] & 0x3F);
    *bytes = 4;
    return (first & 0x07) << 18 | (text[1] & 0x3F) << 12 | (text[2] & 0x3F) << 6 | (text[3] & 0x3F);
}

/* The place of a value among values in rising order, NONE where it is not among them. */
static u32 find_sorted(const u32 *values, u32 count, u32 value) {
    u32 low = 0, high = count;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (values[middle] < value) low = middle + 1;
        else high = middle;
    }
    return low < count && values[low] == value ? low : NONE;
}

static int may_begin_added(u32 c) { return c == '<' || c == '[' || c == '\n' || c == '\t'; }

static u32 record_of(u32 code_point) {
    return tables.kinds[tables.kind_pages[code_point >> 6] << 6 | (code_point & 63)];
}

/* Bytes of a character by its first byte. */
static u32 bytes_of(u8 first) { return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4; }

static u32 kind_of_all(u32 byte) {
    u32 from, count;
    if (byte < 0x80) return record_of(byte);
    if (byte < 0xC2 || byte >= 0xF0 || byte == 0xED) return NO_KIND; /* U+D800 to U+DFFF have no kind */
    if (byte < 0xE0) from = (byte & 0x1F) << 6, count = 0x40;
    else from = (byte & 0x0F) << 12, count = 0x1000;
    if (byte == 0xE0) from = 0x800, count = 0x800;
    for (u32 i = 0; i < count; i++) {
        if (record_of(from + i) != record_of(from)) return NO_KIND;
    }
    return record_of(from) <= KIND ? record_of(from) : NO_KIND;
}

static void unfold(void) {
    int has_kinds = tables.scheme != BETWEEN_CHARACTERS;
    for (u32 byte = 0; byte < 256; byte++) {
        byte_kinds[byte] = has_kinds ? kind_of_all(byte) : NO_KIND;
        ascii_kinds[byte] = byte < 128 ? byte_kinds[byte] : NOT_ASCII;
    }
    for (u32 pair = 0; !has_kinds && pair < 128 * 128; pair++) {
        u32 first = pair >> 7, second = pair & 127;
        int bit = tables.beside[pair >> 3] >> (pair & 7) & 1;
        if (bit && !may_begin_added(second)) goes_on[first << 5 | second >> 3] |= 1 << (second & 7);
    }
}
