/* Counts the tokens of a UTF-16 text: normalizes it as normalize.py does, or says that it cannot (NOT_NORMALIZED), and then prices
 * it by the same units and rules as units.py, tiler.py and memo.py.
 *
 * Freestanding C for wasm32: no library, no allocation, no recursion, no floating point. The host writes the tables and
 * the text into linear memory and calls. Rebuilt by scripts/build_kernel.sh; the built kernel.wasm is committed.
 * The package's docstring explains why a text may be priced unit by unit.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define EXPORT(name) __attribute__((export_name(name)))

/* ---------------------------------------------------------------- tables */

/* tables.KINDS: what a character does to the stream. */
enum kind { WORD, MARK, PUNCTUATION, SYMBOL, NUMBER, SELECTOR, ARABIC, DIGIT, LONE, BLANK };

/* The rest of a record (see tables.Characters). */
#define KIND(record) ((record) & 15)
#define CASE(record) ((record) >> 4 & 3)
enum { OTHER, UPPER, LOWER, CASELESS };
#define FLAG 0x40 /* a word character that seals its word against a contraction; a number that is a decimal digit */

/* tables.CHANGES: what normalization does to a character. From ORDERED on it stays, and is its combining class by rank. */
enum change { KEEP, STRIP, TO_SPACE, ESCAPE, QUOTE, DOUBLE_QUOTE, ASTRAL, ASK_PYTHON, ORDERED };

/* Returned for a text that only Python can normalize: composing and reordering are not done here. */
#define NOT_NORMALIZED 0xFFFFFFFFu

/* The markers, as in tables.py. They never occur in a text: the normalization replaces them. */
enum { BOW = 0xFDD0, EOW = 0xFDD1, SHIFT = 0xFDD3, CAPS = 0xFDD4 };

/* Written by the host; pointers are offsets into linear memory. */
struct tables {
    const u8 *records;       /* of every UTF-16 unit */
    const u8 *changes;       /* of every UTF-16 unit */
    const u32 *composed;     /* first and last astral character of each range that NFC leaves alone, in order */
    u32 composed_count;      /* ranges */
    const u16 *lower_pairs;  /* a character, its lower case, ... */
    u32 lower_count;         /* pairs */
    const u16 *symbols;      /* characters of the trie; their codes are 1, 2, ... */
    u32 symbol_count;
    const u16 *floor_pages;  /* price of a code point alone: floors[floor_pages[cp / 64] * 64 + cp % 64] */
    const u8 *floors;
    const u32 *cells;        /* the vocabulary backwards, as a double array: see push */
    u32 root;                /* base of the trie's root */
    const u16 *newlines;     /* price of a run of newlines, by length */
    u32 newlines_known;      /* entries of it, the last `newlines_longest` of which repeat with one token more */
    u32 newlines_longest;
    const u16 *runs;         /* a character, its longest piece of repeats: see push_units */
    u32 run_count;
    u32 caps_from;           /* shortest all-capital word that takes CAPS; 0: none */
    u32 frame_bow;           /* whether the frame ends in a BOW */
    u32 fold_quotes;         /* whether curly quotes count as plain ones */
};

static struct tables tables;
static u16 lower[0x10000];
static u16 symbols[0x10000]; /* code in the trie | price alone << 12, of every UTF-16 unit */

#define NO_CODE 0xFFF /* a character of no piece: matches no cell */

static u32 floor_of(u32 code_point) {
    return tables.floors[tables.floor_pages[code_point >> 6] << 6 | (code_point & 63)];
}

extern u8 __heap_base;

/* Where the host may begin to write. */
EXPORT("heap_base") u32 heap_base(void) { return (u32)&__heap_base; }

EXPORT("setup") void setup(const struct tables *given) {
    tables = *given;
    for (u32 c = 0; c < 0x10000; c++) {
        lower[c] = (u16)c;
        symbols[c] = (u16)(floor_of(c) << 12 | NO_CODE);
    }
    for (u32 i = 0; i < tables.lower_count; i++) lower[tables.lower_pairs[2 * i]] = tables.lower_pairs[2 * i + 1];
    for (u32 i = 0; i < tables.symbol_count; i++) {
        u16 *symbol = &symbols[tables.symbols[i]];
        *symbol = (u16)((*symbol & 0xF000) | (i + 1));
    }
}

/* ---------------------------------------------------------------- the tiling */

/* Least number of tokens of everything pushed since `begin`, kept for as many places back as a piece is long. */
#define RING 256
static u32 least[RING];
static u16 codes[RING];
static u32 pushed;

static void begin(void) {
    pushed = 0;
    least[0] = 0;
    codes[RING - 1] = NO_CODE; /* before the first character there is nothing to match */
}

/* A cell is base << 13 | ends << 12 | code. The child of a state by a code is cells[base + code] if that cell's code is
 * the code; `ends` says that the characters walked so far, read forwards, are a piece. */
static void push(u32 symbol) {
    u32 at = pushed++;
    u32 code = symbol & 0xFFF;
    u32 best = least[at % RING] + (symbol >> 12);
    u32 base = tables.root;
    codes[at % RING] = (u16)code;
    for (;;) {
        u32 cell = tables.cells[base + code];
        if ((cell & 0xFFF) != code) break;
        if (cell & 0x1000 && least[at % RING] + 1 < best) best = least[at % RING] + 1;
        base = cell >> 13;
        at--;
        code = codes[at % RING];
    }
    least[pushed % RING] = best;
}

static void push_unit(u16 unit) { push(symbols[unit]); }

static u32 tokens(void) { return least[pushed % RING]; }

/* Characters of a run from where on `longest` more of them cost one token more, whatever stands at its two ends. */
#define PERIODIC_FROM 1024

/* Pushes text[from, to). A long run of one character goes in without its repeats; returns the tokens of those. */
static u32 push_units(const u16 *text, u32 from, u32 to) {
    u32 dropped = 0;
    for (u32 i = from; i < to;) {
        u32 first = i, longest = 0;
        while (i < to && text[i] == text[first]) i++;
        if (i - first >= 2 * PERIODIC_FROM) {
            for (u32 r = 0; r < tables.run_count; r++) {
                if (tables.runs[2 * r] == text[first]) longest = tables.runs[2 * r + 1];
            }
        }
        u32 repeats = longest ? (i - first - PERIODIC_FROM) / longest : 0;
        for (u32 left = i - first - repeats * longest; left; left--) push_unit(text[first]);
        dropped += repeats;
    }
    return dropped;
}

/* ---------------------------------------------------------------- words */

/* Which case marker a word takes: SHIFT, CAPS or 0 for none. `mark_case` of ctok; units.Marker.word. */
static u32 case_marker(const u16 *word, u32 length) {
    u32 uppers = 0, lowers = 0, caseless = 0, dotted = 0;
    for (u32 i = 0; i < length; i++) {
        u16 c = word[i];
        u32 which = CASE(tables.records[c]);
        if (c == 0x1E9E) return 0; /* capital sharp s */
        dotted += c == 0x130;      /* capital i with dot: passed over, but never all capitals */
        uppers += which == UPPER;
        lowers += which == LOWER;
        caseless += which == CASELESS;
    }
    if (!dotted && tables.caps_from && length >= tables.caps_from && uppers && !lowers && !caseless) return CAPS;
    int first_is_upper = CASE(tables.records[word[0]]) == UPPER && word[0] != 0x130;
    return first_is_upper && uppers == 1 + dotted ? SHIFT : 0;
}

static u32 tile_word(const u16 *word, u32 length, int marks_first) {
    u32 marker = marks_first ? 0 : case_marker(word, length);
    begin();
    if (marker) push_unit((u16)marker);
    push_unit(BOW);
    if (marker) {
        for (u32 i = 0; i < length; i++) push_unit(lower[word[i]]);
    } else {
        for (u32 i = 0; i < length; i++) push_unit(word[i]);
    }
    push_unit(EOW);
    return tokens();
}

/* Words seen lately, whole: one slot a hash. */
#define SLOTS 16384
#define LONGEST_CACHED 12
static struct {
    u16 word[LONGEST_CACHED];
    u16 length;
    u16 cost;
} seen[SLOTS];

static u32 word_cost(const u16 *word, u32 length) {
    if (length > LONGEST_CACHED) return tile_word(word, length, 0);
    u64 hash = length;
    for (u32 i = 0; i < length; i++) {
        hash = (hash ^ word[i]) * 0x9E3779B97F4A7C15ull;
        hash ^= hash >> 29;
    }
    u32 slot = (u32)(hash >> 20) % SLOTS;
    if (seen[slot].length == length) {
        u32 i = 0;
        while (i < length && seen[slot].word[i] == word[i]) i++;
        if (i == length) return seen[slot].cost;
    }
    u32 cost = tile_word(word, length, 0);
    for (u32 i = 0; i < length; i++) seen[slot].word[i] = word[i];
    seen[slot].length = (u16)length;
    seen[slot].cost = (u16)cost;
    return cost;
}

/* ---------------------------------------------------------------- the text */

static const u16 *text;
static u32 size;

static int is_surrogate(u16 unit) { return (unit & 0xF800) == 0xD800; }

static u32 kind_at(u32 i) { return KIND(tables.records[text[i]]); }

static int is_word_at(u32 i) { return i < size && kind_at(i) <= MARK; }

static u32 skip_word(u32 i) {
    while (is_word_at(i)) i++;
    return i;
}

static int is_one_space(u32 i) { return i < size && text[i] == ' ' && !(i + 1 < size && text[i + 1] == ' '); }

/* Whether a run of numbers is all decimal digits or all other numbers, with no selector in it. */
static int is_uniform(u32 from, u32 to) {
    for (u32 i = from; i < to; i++) {
        if (kind_at(i) == SELECTOR) return 0;
        if ((tables.records[text[i]] ^ tables.records[text[from]]) & FLAG) return 0;
    }
    return 1;
}

/* Whether a stretch takes a BOW from a space on its left. */
static int takes_bow(u32 from, u32 to) {
    if (kind_at(from) != NUMBER) return 1;
    u32 end = from;
    while (end < to && (kind_at(end) == NUMBER || kind_at(end) == SELECTOR)) end++;
    return is_uniform(from, end);
}

/* Whether a stretch takes an EOW from a space on its right. */
static int takes_eow(u32 from, u32 to) {
    if (kind_at(to - 1) != NUMBER) return 1;
    u32 start = to;
    while (start > from && (kind_at(start - 1) == NUMBER || kind_at(start - 1) == SELECTOR)) start--;
    while (kind_at(start) == SELECTOR) start++; /* rides on what is before it: no part of the number run */
    return is_uniform(start, to);
}

static int is_contraction(u32 from, u32 to) {
    const u16 *w = text + from;
    if (to - from == 1) return w[0] == 's' || w[0] == 't' || w[0] == 'd' || w[0] == 'm';
    if (to - from != 2) return 0;
    return (w[0] == 'l' && w[1] == 'l') || (w[0] == 'r' && w[1] == 'e') || (w[0] == 'v' && w[1] == 'e');
}

/* Whether the apostrophe that ends a stretch joins a contraction's suffix: it stands alone, and what is on its left
 * writes no border of its own. */
static int joins(u32 from, u32 apostrophe) {
    if (apostrophe > from) return kind_at(apostrophe - 1) != PUNCTUATION && !takes_eow(from, apostrophe);
    if (!from || !is_word_at(from - 1)) return 1;
    return !(tables.records[text[from - 1]] & FLAG);
}

static u32 newline_cost(u32 count) {
    u32 more = 0;
    if (count >= tables.newlines_known) {
        more = (count - tables.newlines_known) / tables.newlines_longest + 1;
        count -= more * tables.newlines_longest;
    }
    return tables.newlines[count] + more;
}

/* ---------------------------------------------------------------- units */

/* What stands on the left of a unit, as in units.py. */
enum context { NO_SPACE, SPACE, OPTIONAL_SPACE, FRAME };

static u32 total;
static enum context context;

/* A unit that takes no BOW: a space before it counts, the frame's BOW stands alone. */
static void add_bare(u32 cost) { total += cost + (context == OPTIONAL_SPACE || context == FRAME); }

/* Behind a unit that wrote EOW a single space is the seam: counted only if the next unit begins with no BOW. */
static u32 close(u32 i, int wrote_eow) {
    context = NO_SPACE;
    if (!wrote_eow || !is_one_space(i)) return i;
    context = OPTIONAL_SPACE;
    return i + 1;
}

static u32 take_word(u32 i) {
    u32 first = i;
    while (i < size && kind_at(i) == MARK) i++;
    int marks_first = i > first;
    i = i < size && kind_at(i) == WORD ? skip_word(i) : i;
    total += marks_first ? tile_word(text + first, i - first, 1) : word_cost(text + first, i - first);
    return close(i, 1);
}

static u32 take_blanks(u32 i) {
    u32 cost = 0;
    int wants_bow = text[i] != ' ';
    while (i < size && kind_at(i) == BLANK) {
        u16 blank = text[i];
        u32 first = i;
        while (i < size && text[i] == blank) i++;
        u32 length = i - first;
        if (blank == '\n') cost += newline_cost(length);
        else if (blank == ' ' || blank == '\t') cost += (length + 15) / 16;
        else cost += length;
    }
    total += cost + (context == OPTIONAL_SPACE || (context == FRAME && wants_bow));
    context = text[i - 1] == ' ' ? SPACE : NO_SPACE;
    return i;
}

static u32 take_digits(u32 i) {
    u32 first = i;
    while (i < size && kind_at(i) == DIGIT) i++;
    add_bare((i - first + 2) / 3);
    context = NO_SPACE;
    return i;
}

static u32 take_lone(u32 i) {
    u32 code_point = text[i++];
    if (is_surrogate((u16)code_point) && i < size) {
        code_point = 0x10000 + ((code_point & 0x3FF) << 10) + (text[i++] & 0x3FF);
    }
    add_bare(floor_of(code_point));
    context = NO_SPACE;
    return i;
}

/* Punctuation, symbols, selectors, numbers but ASCII digits: one tiling, perhaps with a contraction's suffix. */
static u32 take_stretch(u32 first) {
    u32 i = first;
    while (i < size && kind_at(i) >= PUNCTUATION && kind_at(i) <= ARABIC) i++;
    int lone_apostrophe = text[i - 1] == '\'' && is_word_at(i);
    int quote = lone_apostrophe && i - first == 1;
    int bow = context == FRAME ? !quote : context != NO_SPACE && !quote && takes_bow(first, i);
    if (context == OPTIONAL_SPACE && !bow) total++;
    if (context == FRAME && quote) total++;
    begin();
    if (bow) push_unit(BOW);
    total += push_units(text, first, i);
    if (lone_apostrophe && kind_at(i) == WORD) {
        u32 end = skip_word(i);
        if (is_contraction(i, end) && joins(first, i - 1)) {
            for (u32 j = i; j < end; j++) push_unit(text[j]);
            push_unit(EOW);
            total += tokens();
            return close(end, 1);
        }
    }
    int wrote_eow = is_one_space(i) && takes_eow(first, i);
    if (wrote_eow) push_unit(EOW);
    total += tokens();
    return close(i, wrote_eow);
}

/* Tokens of a normalized text that does not end in a newline, at least one unit long. */
EXPORT("count_normal") u32 count_normal(const u16 *given, u32 length) {
    text = given;
    size = length;
    total = 0;
    context = tables.frame_bow ? FRAME : NO_SPACE;
    for (u32 i = 0; i < size;) {
        switch (kind_at(i)) {
            case WORD: case MARK: i = take_word(i); break;
            case BLANK: i = take_blanks(i); break;
            case DIGIT: i = take_digits(i); break;
            case LONE: i = take_lone(i); break;
            default: i = take_stretch(i);
        }
    }
    return total + (context == OPTIONAL_SPACE);
}

/* ---------------------------------------------------------------- normalization */

static int is_composed(u32 code_point) {
    u32 from = 0, to = tables.composed_count;
    while (from < to) {
        u32 middle = (from + to) / 2;
        if (tables.composed[2 * middle + 1] < code_point) from = middle + 1;
        else to = middle;
    }
    return from < tables.composed_count && tables.composed[2 * from] <= code_point;
}

/* Units left of `units[0, length)`, normalized where they are; NOT_NORMALIZED if something has to be composed or reordered, is
 * half a pair, or is not known. The characters that stay are in NFC if none of them composes with what is on its left
 * and no combining class is lower than the one before it: the quick check of UAX #15, 9. It runs over what is still
 * to be stripped, too, since NFC comes first. */
static u32 normalize(u16 *units, u32 length) {
    u32 kept = 0, last = KEEP;
    for (u32 i = 0; i < length; i++) {
        u16 unit = units[i];
        u32 change = tables.changes[unit];
        if (change == KEEP) {
            units[kept++] = unit;
            last = KEEP;
            continue;
        }
        if (change >= ORDERED) {
            if (change < last) return NOT_NORMALIZED;
            units[kept++] = unit;
            last = change;
            continue;
        }
        last = KEEP;
        switch (change) {
            case STRIP: break;
            case TO_SPACE: units[kept++] = ' '; break;
            case ESCAPE: units[kept++] = (u16)(unit - 0xFDD0 + 0xE000); break;
            case QUOTE: units[kept++] = tables.fold_quotes ? '\'' : unit; break;
            case DOUBLE_QUOTE: units[kept++] = tables.fold_quotes ? '"' : unit; break;
            case ASTRAL: {
                u16 next = i + 1 < length ? units[i + 1] : 0;
                if (unit >= 0xDC00 || (next & 0xFC00) != 0xDC00) return NOT_NORMALIZED;
                if (!is_composed(0x10000 + ((unit & 0x3FFu) << 10) + (next & 0x3FF))) return NOT_NORMALIZED;
                units[kept++] = unit;
                units[kept++] = next;
                i++;
                break;
            }
            default: return NOT_NORMALIZED;
        }
    }
    return kept;
}

/* Tokens of a text as it came, at least one unit long, or NOT_NORMALIZED. Overwrites it. As tokenizer.py's _trim and _count. */
EXPORT("count") u32 count(u16 *units, u32 length) {
    int led_by_space = units[0] == ' ';
    u32 end = normalize(units, length);
    if (end == NOT_NORMALIZED) return NOT_NORMALIZED;
    u32 newlines = end;
    while (end && units[end - 1] == '\n') end--;
    newlines -= end;
    /* The frame's own two newlines join the text's, and the last token of them is the frame's. */
    u32 tail = newlines ? newline_cost(newlines + 2) - 1 : 0;
    /* A space that normalization made or laid bare is not the frame's. */
    if (tables.frame_bow && led_by_space && end && units[0] == ' ' && !(end > 1 && units[1] == ' ')) units++, end--;
    return tail + (end ? count_normal(units, end) : tables.frame_bow);
}
