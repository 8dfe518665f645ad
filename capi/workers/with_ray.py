"""python with_ray.py [WORKERS]: tasks of Ray; what they add up goes through an actor."""

import asyncio
import functools
import operator
import sys

import ray

import recipe


@ray.remote
class Adder:
    """Gives each worker the sum of what all bring, in the order of their ranks. Who waits for a minute fails."""

    def __init__(self, size):
        self.size, self.parts, self.sum = size, {}, None

    async def add(self, rank, array):
        self.parts[rank] = array
        if self.sum is None:
            self.sum = asyncio.get_running_loop().create_future()
        waited = self.sum
        if len(self.parts) == self.size:
            waited.set_result(functools.reduce(operator.add, (self.parts[r] for r in range(self.size))))
            self.parts, self.sum = {}, None
        return await asyncio.wait_for(asyncio.shield(waited), 60)


@ray.remote
def worker(rank, size, adder):
    def reduce(array):
        array[:] = ray.get(adder.add.remote(rank, array))

    return recipe.train(rank, size, reduce)


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    ray.init(num_cpus=size + 1, include_dashboard=False)
    adder = Adder.options(max_concurrency=size).remote(size)
    history, weights = ray.get([worker.remote(rank, size, adder) for rank in range(size)])[0]
    print(f"{size} workers:", *(f"{loss:.4f}" for loss in history["loss"]))
