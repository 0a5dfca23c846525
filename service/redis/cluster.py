"""A cluster's client whose pipelines end in time.

redis-py sends what a node did not answer once more, one command after the other, each with a timeout of its own: sixty
counts of which a third is on a node that hangs took four seconds, where the operator allows a tenth of one.
"""

from __future__ import annotations

import time
from typing import Any

from redis.cluster import ClusterPipeline, RedisCluster
from redis.exceptions import TimeoutError as TookTooLong


class BoundedCluster(RedisCluster):
    """`seconds` after a pipeline was made, twice over, nothing of it is tried a second time."""

    def __init__(self, seconds: float, **options: Any) -> None:
        self._seconds = seconds
        super().__init__(**options)

    def pipeline(self, *args: Any, **more: Any) -> ClusterPipeline:
        pipeline: Any = super().pipeline(*args, **more)  # type: ignore[no-untyped-call]
        ends_at = time.monotonic() + 2 * self._seconds
        once_more = pipeline.parent_execute_command

        def while_there_is_time(*command: Any, **options: Any) -> Any:
            if time.monotonic() >= ends_at:
                raise TookTooLong("no time is left for a second try")
            return once_more(*command, **options)

        pipeline.parent_execute_command = while_there_is_time
        return pipeline  # type: ignore[no-any-return]
