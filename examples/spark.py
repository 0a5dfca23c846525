"""Count the tokens of a corpus with PySpark: on this machine, or wherever spark-submit sends it.

    python examples/spark.py examples/corpus.jsonl counts --model gpt-4o

Writes Parquet files into the folder `counts`: the columns of the input, and those of `service.corpus.frames.COLUMNS`.
"""

from __future__ import annotations

import argparse
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count, lit
from pyspark.sql.functions import sum as total
from pyspark.sql.types import StructType

from service.corpus.frames import SPARK_COLUMNS, count_frames


def main() -> None:
    arguments = read_arguments()
    spark = SparkSession.builder.appName("count tokens").getOrCreate()
    read = spark.read.parquet if arguments.input.endswith(".parquet") else spark.read.json
    frame = read(arguments.input)
    schema = StructType([*frame.schema.fields, *StructType.fromDDL(SPARK_COLUMNS).fields])
    counted = frame.mapInPandas(partial(count_frames, model=arguments.model, column=arguments.column), schema)
    counted.write.mode("overwrite").parquet(arguments.output)

    written = spark.read.parquet(arguments.output)
    records, failed, tokens = written.agg(count(lit(1)), count(col("error")), total("input_tokens")).first()
    print(f"{records} records, {failed} not counted, {tokens} tokens")
    spark.stop()


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Count the tokens of a corpus with PySpark.")
    parser.add_argument("input", help="JSONL or Parquet: a file, a folder, or a URL that Spark reads")
    parser.add_argument("output", help="folder for Parquet files; what is in it is replaced")
    parser.add_argument("--model", required=True)
    parser.add_argument("--column", default="text")
    return parser.parse_args()


if __name__ == "__main__":
    main()
