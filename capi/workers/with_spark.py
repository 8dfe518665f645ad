"""spark-submit --py-files recipe.py,hub.py with_spark.py, or python with_spark.py [WORKERS] on this machine: a barrier
stage of Spark. Its allGather() tells where the first worker is, and no more: the barrier looks once a second for who has
come, so that 40 steps through it took 145 seconds."""

import os
import sys

from pyspark.sql import SparkSession

import hub
import recipe


def worker(_):
    from pyspark import BarrierTaskContext

    context = BarrierTaskContext.get()
    rank, tasks = context.partitionId(), context.getTaskInfos()
    host = tasks[0].address.rsplit(":", 1)[0]
    history, _ = recipe.train(rank, len(tasks), hub.joined(rank, len(tasks), host, context.allGather))
    yield history["loss"]


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master(f"local[{size}]").getOrCreate()
    losses = spark.sparkContext.parallelize(range(size), size).barrier().mapPartitions(worker).collect()
    print(f"{size} workers:", *(f"{loss:.4f}" for loss in losses[0]))
