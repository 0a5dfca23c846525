/* Counts the tokens of a UTF-8 text by byte-pair merges, word by word, and remembers words.
 *
 * Freestanding C for wasm32: no library, no allocation, no recursion, no floating point. The host writes the tables and
 * the text into linear memory and calls. Rebuilt by scripts/build_kernel.sh; the built kernel.wasm is committed.
 * The package's docstring explains why a text may be counted word by word.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define EXPORT(name) __attribute__((export_name(name)))
#define NONE 0xFFFFFFFFu

/* ---------------------------------------------------------------- tables */

/* How a text is cut: between characters that stand side by side in no token, or by GPT-2's pattern. */
enum scheme { BETWEEN_CHARACTERS, GPT2 };

/* Written by the host; pointers are offsets into linear memory. */
struct tables {
    u32 scheme;
    u64 *pairs;            /* open addressing: left << 38 | right << 20 | rank + 1; 0 where free */
    u32 pair_slots;
    const u32 *made;       /* by rank: the id that a merge makes */
    const u32 *byte_ids;   /* of the 256 bytes */
    const u32 *characters; /* BETWEEN_CHARACTERS: the code points that are tokens, in order, then their ids */
    u32 character_count;
    const u8 *beside;      /* bits: whether two ASCII characters stand side by side in a token, by first * 128 + second */
    const u8 *beside_bits; /* the same for all others by BESIDE_BITS of a hash: a set bit may be of another pair */
    const u8 *added;       /* added tokens in order, ADDED_BYTES each, filled up with zeros */
    u32 added_count;
    const u16 *kind_pages; /* GPT2: kinds[kind_pages[code point / 64] * 64 + code point % 64] */
    const u8 *kinds;
};

enum kind { LETTER, NUMBER, SPACE, OTHER };

#define BESIDE_BITS 20
#define ADDED_BYTES 16
#define LONGEST_BLANK 31 /* of the longest run of newlines, tabs or U+2581 that is an added token; as are all shorter */
#define MARK 0x2581      /* a blank inside a token; but a single one in a text is no added token */

static struct tables tables;

/* What the tables say of ASCII, unfolded: the kind of every byte, NO_KIND from 128 on; by first * 256 + second, whether
 * a character that is no part of an added token goes on behind another. */
#define NO_KIND 0xFF
static u8 byte_kinds[256];
static u8 goes_on[128 * 256 / 8];

extern u8 __heap_base;

/* Where the host may begin to write. */
EXPORT("heap_base") u32 heap_base(void) { return (u32)&__heap_base; }

static int may_begin_added(u32 c) { return c == '<' || c == '[' || c == '\n' || c == '\t'; }

static void unfold(void) {
    for (u32 c = 0; c < 256; c++) {
        int is_kind = tables.scheme == GPT2 && c < 128;
        byte_kinds[c] = is_kind ? tables.kinds[tables.kind_pages[c >> 6] << 6 | (c & 63)] : NO_KIND;
    }
    for (u32 pair = 0; tables.scheme == BETWEEN_CHARACTERS && pair < 128 * 128; pair++) {
        u32 first = pair >> 7, second = pair & 127;
        int bit = tables.beside[pair >> 3] >> (pair & 7) & 1;
        if (bit && !may_begin_added(second)) goes_on[first << 5 | second >> 3] |= 1 << (second & 7);
    }
}

EXPORT("setup") void setup(const struct tables *given) {
    tables = *given;
    unfold();
}

static u32 home_of(u64 key) { return (u32)(((key * 0x9E3779B97F4A7C15ull >> 32) * tables.pair_slots) >> 32); }

/* Fills the empty `pairs`. `sides` are the left id of every merge in order of rank, then the right ids. */
EXPORT("build") void build(const u32 *sides, u32 merges) {
    for (u32 rank = 0; rank < merges; rank++) {
        u64 key = (u64)sides[rank] << 18 | sides[merges + rank];
        u32 at = home_of(key);
        while (tables.pairs[at]) at = at + 1 == tables.pair_slots ? 0 : at + 1;
        tables.pairs[at] = key << 20 | (rank + 1);
    }
}

static u32 rank_of(u32 left, u32 right) {
    u64 key = (u64)left << 18 | right;
    for (u32 at = home_of(key);; at = at + 1 == tables.pair_slots ? 0 : at + 1) {
        u64 slot = tables.pairs[at];
        if (!slot) return NONE;
        if (slot >> 20 == key) return (u32)(slot & 0xFFFFF) - 1;
    }
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

/* ---------------------------------------------------------------- merging */

/* A word as a chain of symbols; `ranks` is of a symbol with the next. Words of more symbols are the host's. */
#define LONGEST_WORD 65536
static u32 ids[LONGEST_WORD];
static u32 ranks[LONGEST_WORD];
static u32 nexts[LONGEST_WORD];
static u32 befores[LONGEST_WORD];

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

static void rank_again(u32 place) {
    ranks[place] = nexts[place] == NONE ? NONE : rank_of(ids[place], ids[nexts[place]]);
    wait(ranks[place], place);
}

/* Merges `count` symbols in a chain, lowest rank first and leftmost among equals; returns how many are left. */
static u32 merge_chain(u32 count) {
    u32 left = count;
    waiting = 0;
    for (u32 i = 0; i < count; i++) {
        nexts[i] = i + 1 < count ? i + 1 : NONE;
        befores[i] = i ? i - 1 : NONE;
        rank_again(i);
    }
    while (waiting) {
        u64 entry = take();
        u32 place = (u32)entry, rank = (u32)(entry >> 32);
        if (ranks[place] != rank) continue;
        u32 gone = nexts[place];
        ids[place] = tables.made[rank];
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

static u32 merge_row(u32 count) {
    for (u32 i = 0; i + 1 < count; i++) ranks[i] = rank_of(ids[i], ids[i + 1]);
    while (count > 1) {
        u32 place = 0;
        for (u32 i = 1; i + 1 < count; i++) place = ranks[i] < ranks[place] ? i : place;
        if (ranks[place] == NONE) break;
        ids[place] = tables.made[ranks[place]];
        count--;
        for (u32 i = place + 1; i < count; i++) {
            ids[i] = ids[i + 1];
            ranks[i] = ranks[i + 1];
        }
        if (place) ranks[place - 1] = rank_of(ids[place - 1], ids[place]);
        if (place + 1 < count) ranks[place] = rank_of(ids[place], ids[place + 1]);
    }
    return count;
}

/* ---------------------------------------------------------------- words */

/* Reads the character at text[0]; valid UTF-8 is the host's promise. */
static u32 read_character(const u8 *text, u32 *bytes) {
    u32 first = text[0];
    if (first < 0x80) return *bytes = 1, first;
    if (first < 0xE0) return *bytes = 2, (first & 0x1F) << 6 | (text[1] & 0x3F);
    if (first < 0xF0) return *bytes = 3, (first & 0x0F) << 12 | (text[1] & 0x3F) << 6 | (text[2] & 0x3F);
    *bytes = 4;
    return (first & 0x07) << 18 | (text[1] & 0x3F) << 12 | (text[2] & 0x3F) << 6 | (text[3] & 0x3F);
}

/* Writes the symbols that merging starts from into `ids`; returns their number, NONE for too many. */
static u32 spell(const u8 *word, u32 length) {
    u32 count = 0;
    for (u32 i = 0, bytes; i < length; i += bytes) {
        if (count + 4 > LONGEST_WORD) return NONE;
        u32 id = NONE;
        bytes = 1;
        if (tables.scheme == BETWEEN_CHARACTERS) id = find_character(read_character(word + i, &bytes));
        if (id != NONE) ids[count++] = id;
        else for (u32 j = 0; j < bytes; j++) ids[count++] = tables.byte_ids[word[i + j]];
    }
    return count;
}

static u32 merge_word(const u8 *word, u32 length) {
    u32 count = spell(word, length);
    if (count == NONE) return NONE;
    return count <= SHORT_WORD ? merge_row(count) : merge_chain(count);
}

/* Words met lately, in pairs of slots: 30 bytes of the word, filled up with zeros, its length, its tokens. */
#define SLOTS 32768
#define LONGEST_REMEMBERED 30
static u64 slots[SLOTS][4] __attribute__((aligned(64)));

typedef u64 __attribute__((aligned(1), may_alias)) any_u64;

static u64 up_to_8(const u8 *word, u32 length) {
    u64 all = *(const any_u64 *)word;
    return length >= 8 ? all : all & ((1ull << 8 * length) - 1);
}

/* The slot of a hash, and behind it in the same line of the processor's cache, the other one. */
static u64 *slot_of(u64 hash) { return slots[(u32)(hash >> 40) % SLOTS]; }
static u64 *other_of(u64 *slot) { return slots[(slot - slots[0]) / 4 ^ 1]; }

#define ALL_BUT_TOKENS ((1ull << 56) - 1)

static u32 remember(u64 *slot, const u64 *key, const u8 *word, u32 length) {
    u32 tokens = merge_word(word, length);
    u64 *other = other_of(slot);
    for (u32 i = 0; i < 4; i++) {
        other[i] = slot[i];
        slot[i] = key[i];
    }
    slot[3] |= (u64)tokens << 56;
    return tokens;
}

/* A slot whose length is the key's has zeros where the key has: short words are compared by two numbers. */
static u32 tokens_of_8(const u8 *word, u32 length) {
    u64 key[4] = {up_to_8(word, length), 0, 0, (u64)length << 48};
    u64 hash = (key[0] ^ length) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 32;
    u64 *slot = slot_of(hash * 0xD6E8FEB86659FD93ull), *other = other_of(slot);
    if (slot[0] == key[0] && (slot[3] & ALL_BUT_TOKENS) == key[3]) return (u32)(slot[3] >> 56);
    if (other[0] == key[0] && (other[3] & ALL_BUT_TOKENS) == key[3]) return (u32)(other[3] >> 56);
    return remember(slot, key, word, length);
}

static int is_in(const u64 *slot, const u64 *key) {
    return slot[0] == key[0] && slot[1] == key[1] && slot[2] == key[2] && (slot[3] & ALL_BUT_TOKENS) == key[3];
}

/* Longer words, ruled lines and indents: 120 bytes, filled up with zeros, length << 16 | tokens. */
#define LONG_SLOTS 2048
#define LONGEST_OF_ALL 120
#define LONG_NUMBERS 15
static u64 long_slots[LONG_SLOTS][LONG_NUMBERS + 1] __attribute__((aligned(64)));

static u32 tokens_of_long(const u8 *word, u32 length) {
    u64 key[LONG_NUMBERS], hash = length;
    u32 numbers = (length + 7) / 8;
    for (u32 i = 0; i < numbers; i++) {
        key[i] = up_to_8(word + 8 * i, length - 8 * i);
        hash = (hash ^ key[i]) * 0x9E3779B97F4A7C15ull;
        hash ^= hash >> 32;
    }
    u64 *slot = long_slots[(u32)(hash * 0xD6E8FEB86659FD93ull >> 40) % LONG_SLOTS];
    int is_same = slot[LONG_NUMBERS] >> 16 == length;
    for (u32 i = 0; i < numbers && is_same; i++) is_same = slot[i] == key[i];
    if (is_same) return slot[LONG_NUMBERS] & 0xFFFF;
    u32 tokens = merge_word(word, length);
    for (u32 i = 0; i < numbers; i++) slot[i] = key[i];
    slot[LONG_NUMBERS] = (u64)length << 16 | tokens;
    return tokens;
}

/* Tokens of a word; NONE where it is too long. Bytes behind the text may be read, but do not matter. */
static u32 tokens_of(const u8 *word, u32 length) {
    if (length <= 8) return tokens_of_8(word, length);
    if (length > LONGEST_OF_ALL) return merge_word(word, length);
    if (length > LONGEST_REMEMBERED) return tokens_of_long(word, length);
    u64 key[4] = {up_to_8(word, 8), up_to_8(word + 8, length - 8), 0, 0};
    if (length > 16) key[2] = up_to_8(word + 16, length - 16);
    if (length > 24) key[3] = up_to_8(word + 24, length - 24);
    key[3] |= (u64)length << 48;
    u64 hash = 0;
    for (u32 i = 0; i < 4; i++) {
        hash = (hash ^ key[i]) * 0x9E3779B97F4A7C15ull;
        hash ^= hash >> 32;
    }
    u64 *slot = slot_of(hash * 0xD6E8FEB86659FD93ull), *other = other_of(slot);
    if (is_in(slot, key)) return (u32)(slot[3] >> 56);
    if (is_in(other, key)) return (u32)(other[3] >> 56);
    return remember(slot, key, word, length);
}

/* ---------------------------------------------------------------- the text */

static const u8 *text;
static u32 size;
static u32 certain; /* a unit that ends beyond here may go on behind the block */
static u32 total;
static u32 consumed;

#define LOOK_AHEAD 64 /* bytes behind a unit that decide where it ends: fewer than these */

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
        if (!order) return length;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return 0;
}

/* Counts an added token, or a run of newlines or tabs, of so many tokens. */
static int add_whole(u32 to, u32 tokens) {
    if (to > certain) return 0;
    total += tokens;
    consumed = to;
    return 1;
}

/* Bytes of the added tokens at i, and how many they are: a tag, or a run of one blank. */
static u32 whole_at(u32 i, u32 here, u32 bytes, u32 *tokens) {
    *tokens = 1;
    if (here == '<' || here == '[') return added_at(i);
    if (here != '\n' && here != '\t' && here != MARK) return 0;
    u32 run = 0, step;
    while (i + run * bytes < size && read_character(text + i + run * bytes, &step) == here) run++;
    *tokens = (run + LONGEST_BLANK - 1) / LONGEST_BLANK;
    if (here == MARK && run % LONGEST_BLANK == 1) {
        --*tokens;
        --run;
    }
    return run * bytes;
}

static void count_between_characters(void) {
    u32 start = 0, before = 0, tokens;
    for (u32 i = 0, bytes; i < size; i += bytes) {
        if (i > start && before < 0x80) {
            while (i < size && goes_on[before << 5 | text[i] >> 3] >> (text[i] & 7) & 1) before = text[i++];
            if (i == size) break;
        }
        u32 here = read_character(text + i, &bytes);
        u32 whole = whole_at(i, here, bytes, &tokens);
        if (here == MARK) here = ' ';
        if (i > start && (whole || !is_beside(before, here))) {
            if (!add(start, i)) return;
            start = i;
        }
        if (whole) {
            if (!add_whole(i + whole, tokens)) return;
            start = i + whole;
            bytes = whole;
        }
        before = here;
    }
    if (start < size) add(start, size);
}

static u32 kind_at(u32 i, u32 *bytes) {
    u32 kind = byte_kinds[text[i]];
    if (kind != NO_KIND) return *bytes = 1, kind;
    u32 code_point = read_character(text + i, bytes);
    return tables.kinds[tables.kind_pages[code_point >> 6] << 6 | (code_point & 63)];
}

/* Length of the suffix of a contraction behind the apostrophe at i, 0 where there is none. */
static u32 suffix_at(u32 i) {
    if (i + 1 == size) return 0;
    u8 one = text[i + 1], two = i + 2 < size ? text[i + 2] : 0;
    if (one == 's' || one == 't' || one == 'd' || one == 'm') return 1;
    return (one == 'l' && two == 'l') || ((one == 'r' || one == 'v') && two == 'e') ? 2 : 0;
}

/* Where the blanks that begin at i end as one unit: before the last of them if a visible character follows. */
static u32 end_of_blanks(u32 i) {
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
    if (suffix) return i + 1 + suffix;
    u32 kind = kind_at(i, &bytes);
    if (text[i] == ' ' && i + 1 < size && kind_at(i + 1, &bytes) != SPACE) kind = kind_at(++i, &bytes);
    if (kind == SPACE) return end_of_blanks(i);
    for (i += bytes; i < size; i += bytes) {
        if (byte_kinds[text[i]] == kind) bytes = 1;
        else if (kind_at(i, &bytes) != kind) break;
    }
    return i;
}

static void count_gpt2(void) {
    for (u32 i = 0, end; i < size; i = end) {
        end = end_of_gpt2_unit(i);
        if (!add(i, end)) return;
    }
}

/* Tokens of the units of a block that certainly end in it; of all of it where `last`. NONE where one is too long. */
EXPORT("count") u32 count(const u8 *given, u32 length_and_last) {
    text = given;
    size = length_and_last & 0x7FFFFFFF;
    int last = length_and_last >> 31;
    certain = last ? size : size > LOOK_AHEAD ? size - LOOK_AHEAD : 0;
    total = consumed = 0;
    if (tables.scheme == GPT2) count_gpt2();
    else count_between_characters();
    return total;
}

/* Where the number of bytes of the last block that were counted stands. */
EXPORT("consumed_at") u32 consumed_at(void) { return (u32)&consumed; }
