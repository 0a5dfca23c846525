#pragma once
/* NFKC of what changes by itself. */
#include "patterns.h"

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
    to[made] = STOP;
    text = to;
    size = made;
    return is_normal = 1;
}
