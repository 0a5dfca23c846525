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
#define ASK 0xFFFFFFFEu /* a text that the host must normalise */

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
    const u32 *changes;    /* the code points of kind CHANGES, in order; then where their bytes begin, and all end */
    u32 change_count;
    const u8 *change_bytes;
};

/* What a character goes on in, and perhaps what NFKC does to it: CHANGES it to others that it leaves alone, or JOINS it
 * to its neighbours, perhaps. */
enum kind { LETTER, NUMBER, SPACE, OTHER, KIND = 3, CHANGES = 4, JOINS = 8 };

#define BESIDE_BITS 20
#define ADDED_BYTES 16
#define LONGEST_BLANK 31 /* of the longest run of newlines, tabs or U+2581 that is an added token; as are all shorter */
#define MARK 0x2581      /* a blank inside a token; but a single one in a text is no added token */

static struct tables tables;

/* What the tables say, unfolded: the kind of all characters that begin in a byte, NO_KIND where they differ or NFKC
 * does not leave them alone; by first * 256 + second of ASCII, whether a character that is no part of an added token
 * goes on behind another. */
#define NO_KIND 0xFF
static u8 byte_kinds[256];
static u8 goes_on[128 * 256 / 8];

extern u8 __heap_base;

/* Where the host may begin to write. */
EXPORT("heap_base") u32 heap_base(void) { return (u32)&__heap_base; }

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
    for (u32 byte = 0; byte < 256; byte++) byte_kinds[byte] = tables.scheme == GPT2 ? kind_of_all(byte) : NO_KIND;
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

/* Words met lately. Most are short: 14 bytes filled up with zeros, the length, the tokens; a set of four of them is a
 * line of the processor's cache. */
#define SETS 16384
#define LONGEST_SHORT 14
static u64 sets[SETS][8] __attribute__((aligned(64)));

/* Longer ones, indents and ruled lines: length << 16 | tokens, then the bytes filled up with zeros. */
#define LONG_SLOTS 8192
#define LONG_NUMBERS 15
static u64 long_slots[LONG_SLOTS][1 + LONG_NUMBERS] __attribute__((aligned(64)));

typedef u64 __attribute__((aligned(1), may_alias)) any_u64;

static u64 up_to_8(const u8 *word, u32 length) {
    u64 all = *(const any_u64 *)word;
    return length >= 8 ? all : all & ((1ull << 8 * length) - 1);
}

static u64 mix(u64 hash, u64 number) {
    hash = (hash ^ number) * 0x9E3779B97F4A7C15ull;
    return (hash ^ hash >> 32) * 0xD6E8FEB86659FD93ull;
}

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
    for (u32 i = 7; i > 1; i--) set[i] = set[i - 2]; /* the last one leaves */
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

/* Tokens of a word; NONE where it is too long. Bytes behind the text may be read, but do not matter. */
static u32 tokens_of(const u8 *word, u32 length) {
    if (length <= LONGEST_SHORT) return tokens_of_short(word, length);
    return length <= 8 * LONG_NUMBERS ? tokens_of_long(word, length) : merge_word(word, length);
}

/* ---------------------------------------------------------------- the text */

static const u8 *text;
static u32 size;
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
        while (i < size && text[i] < 0x80 && byte_kinds[text[i]] == kind) i++;
        if (i == size || kind_at(i, &bytes) != kind) break;
    }
    return i;
}

/* ---------------------------------------------------------------- NFKC */

static u32 place_of_change(u32 code_point) {
    u32 low = 0, high = tables.change_count;
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        if (tables.changes[middle] <= code_point) low = middle;
        else high = middle;
    }
    return low;
}

/* Makes the text its changed rest from `done` on, written at `to`; returns whether all could be changed. No character
 * becomes more than three times as many bytes. */
static int normalise(u32 done, u8 *to) {
    const u32 *starts = tables.changes + tables.change_count;
    u32 made = 0;
    for (u32 bytes; done < size; done += bytes) {
        for (; done + 8 <= size && !(*(const any_u64 *)(text + done) & 0x8080808080808080ull); done += 8, made += 8) {
            *(any_u64 *)(to + made) = *(const any_u64 *)(text + done);
        }
        if (done == size) break;
        u32 record = byte_kinds[text[done]];
        bytes = bytes_of(text[done]);
        u32 code_point = 0;
        if (record == NO_KIND) record = record_of(code_point = read_character(text + done, &bytes));
        if (record & JOINS) return 0;
        if (record & CHANGES) {
            u32 place = place_of_change(code_point);
            for (u32 from = starts[place]; from < starts[place + 1]; from++) to[made++] = tables.change_bytes[from];
        } else {
            for (u32 i = 0; i < bytes; i++) to[made++] = text[done + i];
        }
    }
    text = to;
    size = made;
    return is_normal = 1;
}

/* As far as NFKC leaves the text alone as it is, the rest changed; returns 0 where the host must change it. */
static int count_gpt2(int last, u8 *free) {
    u32 i = 0;
    while (i < size) {
        met_change = 0;
        u32 end = end_of_gpt2_unit(i);
        if (met_change) {
            if (!normalise(i, free)) return 0;
            set_certain(last);
            i = consumed = 0;
        } else {
            if (!add(i, end)) break;
            i = end;
        }
    }
    return 1;
}

/* ---------------------------------------------------------------- what the host calls */

/* What follows the counted units of a block: where it lies, how many bytes it has. */
static u32 rest[2];

EXPORT("rest_at") u32 rest_at(void) { return (u32)rest; }

/* Tokens of the units of a block that certainly end in it; of all of it if `length_and_last` says that it is the last.
 * NONE where one is too long, ASK where `normal` is not set and the text must be normalised by the host. */
static u32 count_units(const u8 *given, u32 length_and_last, int normal) {
    int last = length_and_last >> 31;
    text = given;
    size = length_and_last & 0x7FFFFFFF;
    set_certain(last);
    total = consumed = 0;
    is_normal = normal;
    if (tables.scheme == BETWEEN_CHARACTERS) count_between_characters();
    else if (!count_gpt2(last, (u8 *)given + size + LOOK_AHEAD)) return ASK;
    rest[0] = (u32)text + consumed;
    rest[1] = size - consumed;
    return total;
}

/* The memory behind the block is overwritten: three times its length. */
EXPORT("count") u32 count(const u8 *given, u32 length_and_last) { return count_units(given, length_and_last, 0); }

EXPORT("count_normal") u32 count_normal(const u8 *given, u32 length_and_last) {
    return count_units(given, length_and_last, 1);
}
