"""Count the tokens of a corpus with Ray Data: on this machine, or on the cluster that RAY_ADDRESS names.

    python examples/ray_data.py examples/corpus.jsonl counts --model gpt-4o

Writes Parquet files into the folder `counts`: the columns of the input, and those of `service.corpus.frames.COLUMNS`.
"""

from __future__ import annotations

import argparse
import os

import ray
import ray.data

from service.corpus.frames import count_table


def main() -> None:
    arguments = read_arguments()
    if address := os.environ.get("RAY_ADDRESS"):
        ray.init(address)
    else:  # start a Ray that only this machine can reach, and that sends no usage statistics
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init("local", include_dashboard=False, _node_ip_address="127.0.0.1")
    read = ray.data.read_parquet if arguments.input.endswith(".parquet") else ray.data.read_json
    read(_absolute(arguments.input)).map_batches(
        count_table, batch_format="pyarrow", fn_kwargs={"model": arguments.model, "column": arguments.column}
    ).write_parquet(_absolute(arguments.output))
    ray.shutdown()


def _absolute(path: str) -> str:
    """The absolute path, because Ray's workers run in other folders."""
    return path if "://" in path else os.path.abspath(path)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Count the tokens of a corpus with Ray Data.")
    parser.add_argument("input", help="JSONL or Parquet: a file, a folder, or a URL that Ray reads")
    parser.add_argument("output", help="folder for Parquet files")
    parser.add_argument("--model", required=True)
    parser.add_argument("--column", default="text")
    return parser.parse_args()


if __name__ == "__main__":
    main()
