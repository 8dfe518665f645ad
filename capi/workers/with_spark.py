"""spark-submit with_spark.py, or python with_spark.py [WORKERS] on this machine: a barrier stage of Spark."""

import base64
import os
import sys

import numpy as np
from pyspark.sql import SparkSession

import recipe


def worker(_):
    from pyspark import BarrierTaskContext

    context = BarrierTaskContext.get()
    size = len(context.getTaskInfos())

    def reduce(array):
        parts = context.allGather(base64.b64encode(array.tobytes()).decode())
        array[:] = 0
        for part in parts:  # in the order of the ranks
            array += np.frombuffer(base64.b64decode(part), array.dtype)

    history, _ = recipe.train(context.partitionId(), size, reduce)
    yield history["loss"]


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master(f"local[{size}]").getOrCreate()
    losses = spark.sparkContext.parallelize(range(size), size).barrier().mapPartitions(worker).collect()
    print(f"{size} workers:", *(f"{loss:.4f}" for loss in losses[0]))
