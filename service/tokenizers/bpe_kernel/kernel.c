/* Counts the tokens of a UTF-8 text by byte-pair merges, word by word, and remembers words.
 *
 * Freestanding C for wasm32: no library, no allocation, no recursion, no floating point. The host writes the tables and
 * the text into linear memory and calls. Rebuilt by scripts/build_kernel.sh; the built kernel.wasm is committed.
 * The package's docstring explains why a text may be counted word by word.
 */
#include "characters.h"
#include "normalising.h"

#define ASK 0xFFFFFFFEu /* a text that the host must normalise */

extern u8 __heap_base;

/* Where the host may begin to write. */
EXPORT("heap_base") u32 heap_base(void) { return (u32)&__heap_base; }

EXPORT("setup") void setup(const struct tables *given) {
    tables = *given;
    unfold();
}

/* As far as NFKC leaves the text alone as it is, the rest changed; returns 0 where the host must change it. */
static int count_by_pattern(int last, u8 *free) {
    u32 i = 0;
    while (i < size) {
        met_change = ran_out = 0;
        u32 end = end_of_unit(i);
        if (ran_out && !last) break;
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

/* What follows the counted units of a block: where it lies, how many bytes it has; and where their ids are. */
static u32 rest[3];

EXPORT("rest_at") u32 rest_at(void) { return (u32)rest; }

/* Tokens of the units of a block that certainly end in it; of all of it if `length_and_last` says that it is the last.
 * NONE where one is too long, ASK where `normal` is not set and the text must be normalised by the host. */
static u32 count_units(u8 *given, u32 length_and_last, int normal) {
    int last = length_and_last >> 31;
    text = given;
    size = length_and_last & 0x7FFFFFFF;
    given[size] = STOP;
    set_certain(last);
    total = consumed = 0;
    is_normal = normal;
    if (tables.scheme == BETWEEN_CHARACTERS) count_between_characters();
    else if (!count_by_pattern(last, given + size + LOOK_AHEAD)) return ASK;
    rest[0] = (u32)text + consumed;
    rest[1] = size - consumed;
    return total;
}

/* The memory behind the block is overwritten: three times its length. */
EXPORT("count") u32 count(u8 *given, u32 length_and_last) {
    next_id = 0;
    return count_units(given, length_and_last, 0);
}

EXPORT("count_normal") u32 count_normal(u8 *given, u32 length_and_last) {
    next_id = 0;
    return count_units(given, length_and_last, 1);
}

/* The same, but behind that memory the ids are written: up to twelve times the length of the block. */
static u32 encode_units(u8 *given, u32 length_and_last, int normal) {
    u32 end = (u32)given + 4 * (length_and_last & 0x7FFFFFFF) + 3 * LOOK_AHEAD;
    rest[2] = (end + 7) & ~7u;
    next_id = (u32 *)rest[2];
    return count_units(given, length_and_last, normal);
}

EXPORT("encode") u32 encode(u8 *given, u32 length_and_last) { return encode_units(given, length_and_last, 0); }

EXPORT("encode_normal") u32 encode_normal(u8 *given, u32 length_and_last) {
    return encode_units(given, length_and_last, 1);
}
