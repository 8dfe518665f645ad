"""Goldens of LoRA: kernels that stay, beside two matrices that are trained. Keras's Dense and Embedding forget a
lora_alpha that is not given to enable_lora(): their cases have none."""
import numpy as np

from cases_sequence import finish, normal
from record import Family, Net, kind

TRAINED = {"optimizer": kind("SGD", learning_rate=0.1, momentum=0.9), "steps": 3}


def lora():
    f = Family("lora")

    def case(name, class_name, shape, ids=None, arguments=None, **attributes):
        net, rng = Net(), f.rng(name)
        x = net.input("x", shape[1:], "int32" if ids else "float32")
        value = rng.integers(0, ids, shape).astype(np.int32) if ids else normal(rng, *shape)
        out = net.add(class_name, x, arguments=arguments, **attributes)
        finish(f, name, net, out, [value], **TRAINED)

    case("dense", "Dense", (4, 5), units=3, lora_rank=2)
    case("dense_steps", "Dense", (2, 3, 5), units=4, activation="tanh", use_bias=False, lora_rank=1)
    case("dense_regularized", "Dense", (4, 5), units=3, lora_rank=2, kernel_regularizer=kind("L2", l2=0.1))
    case("einsum", "EinsumDense", (2, 3, 5), equation="abc,cd->abd", output_shape=[None, 4], bias_axes="d",
         lora_rank=2, lora_alpha=5)
    case("einsum_heads", "EinsumDense", (2, 3, 5), equation="abc,cde->abde", output_shape=[None, 2, 4],
         lora_rank=3, lora_alpha=1)
    case("einsum_other_order", "EinsumDense", (3, 5), equation="ab,cb->ac", output_shape=[4], lora_rank=2)
    case("embedding", "Embedding", (3, 4), ids=7, input_dim=7, output_dim=5, lora_rank=2,
         embeddings_regularizer=kind("L1", l1=0.01))
    case("conv1d", "Conv1D", (2, 6, 4), filters=6, kernel_size=[2], groups=2, lora_rank=2, lora_alpha=4)
    case("conv2d", "Conv2D", (2, 5, 5, 3), filters=4, kernel_size=[2, 3], padding="same", lora_rank=2)
    case("conv3d", "Conv3D", (1, 3, 3, 3, 2), filters=3, kernel_size=[2, 2, 2], lora_rank=1, lora_alpha=3)
    return f


FAMILIES = {"lora": lora}
