"""horovodrun -np 4 python with_horovod.py: Horovod with PyTorch's tensors, which lie over the library's numbers."""

import horovod.torch as hvd
import torch

import recipe

hvd.init()
history, weights = recipe.train(
    hvd.rank(), hvd.size(), lambda a: hvd.allreduce_(torch.from_numpy(a), op=hvd.Sum)
)
if hvd.rank() == 0:
    print(f"{hvd.size()} workers:", *(f"{loss:.4f}" for loss in history["loss"]))
