"""Record the golden transcript anew: `python -m tests.golden.record [GROUP ...]`.

The transcript says what callers see: status, headers and body of every answer. It may be recorded anew only in a change
that callers are meant to see, or that adds requests. Then the diff of tests/golden/transcript/ is a part of that
change: it is read line by line in the review, and a line that the change does not explain is a fault of the change. A
refactoring leaves the files as they are.

Without arguments every group is recorded but `engines`, which says by what engine each tokenizer counts: name it.
Prices are those of the day: a row whose model changes its price must name its day, or another model.
"""

from __future__ import annotations

import sys

from tests.golden.requests import ENGINES, GROUPS
from tests.golden.transcript import answers_of, read, write


def main(groups: list[str]) -> int:
    unknown = [group for group in groups if group not in GROUPS]
    if unknown:
        print(f"no such group: {', '.join(unknown)}; there are: {', '.join(GROUPS)}", file=sys.stderr)
        return 2
    wanted = groups or [group for group in GROUPS if group != ENGINES]
    for server in dict.fromkeys(GROUPS[group] for group in wanted):
        for group, entries in answers_of(server).items():
            if group not in wanted:
                continue
            before = {entry["name"]: entry for entry in read(group)}
            changed = sum(before.pop(entry["name"], None) != entry for entry in entries)
            write(group, entries)
            print(f"{group}: {len(entries)} requests, {changed} new or changed, {len(before)} gone")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
