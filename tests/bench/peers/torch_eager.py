"""PyTorch, eager: torch.inference_mode, fused optimizers, the faster layout of images."""
import torch_rows

torch_rows.serve(compiled=False)
