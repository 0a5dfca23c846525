/* Counts the tokens of a UTF-8 text, or finds their ids, by byte-pair merges, word by word; remembers words.
 *
 * Freestanding C for wasm32: no library, no allocation, no recursion, no floating point. The host writes the tables and
 * the text into linear memory and calls. Rebuilt by scripts/build_kernel.sh; the built kernel.wasm is committed.
 * The package's docstring explains why a text may be counted word by word.
 */
#include "characters.h"
#include "normalizing.h"

extern u8 __heap_base;

/* Where the host may begin to write. */
EXPORT("heap_base") u32 heap_base(void) { return (u32)&__heap_base; }

EXPORT("setup") void setup(const struct tables *given) {
    tables = *given;
    unfold();
}

/* As far as NFKC leaves the text alone it is counted as it is, then the rest as NFKC makes it. */
static void count_by_pattern(int last, u8 *free) {
    u32 i = 0;
    while (i < size) {
        met_change = ran_out = 0;
        u32 end = end_of_unit(i);
        if (met_change) {
            normalize(i, free);
            set_certain(last);
            if (certain > settled && !last) certain = settled;
            i = consumed = 0;
        } else {
            if (ran_out && !last) break;
            if (!add(i, end)) break;
            i = end;
        }
    }
}

/* What follows the counted units of a block: where it lies and its bytes; and where the ids of the units are. */
static u32 rest[3];

EXPORT("rest_at") u32 rest_at(void) { return (u32)rest; }

/* Bytes behind a block that are overwritten, for each of its own: what NFKC makes of it, and twice the code points of a
 * stretch. */
static u32 room_for_each_byte(void) { return tables.scheme == GPT2 ? MAX_GROWTH + 8 : 0; }

/* Tokens of the units of a block that certainly end in it; of all of it if `length_and_last` says that it is the last.
 * NONE where a unit cannot be merged in windows. */
static u32 count_units(u8 *given, u32 length_and_last) {
    int last = length_and_last >> 31;
    text = given;
    size = length_and_last & 0x7FFFFFFF;
    given[size] = STOP;
    set_certain(last);
    total = consumed = is_normal = 0;
    if (tables.scheme == BETWEEN_CHARACTERS) count_between_characters();
    else count_by_pattern(last, given + size + LOOK_AHEAD);
    rest[0] = (u32)text + consumed;
    rest[1] = size - consumed;
    return total;
}

EXPORT("count") u32 count(u8 *given, u32 length_and_last) {
    next_id = 0;
    return count_units(given, length_and_last);
}

/* The same; the ids are written behind the room that is overwritten, at most one for each byte of the normal text. */
EXPORT("encode") u32 encode(u8 *given, u32 length_and_last) {
    u32 length = length_and_last & 0x7FFFFFFF;
    rest[2] = ((u32)given + (1 + room_for_each_byte()) * length + 8 * LOOK_AHEAD) & ~7u;
    next_id = (u32 *)rest[2];
    return count_units(given, length_and_last);
}
