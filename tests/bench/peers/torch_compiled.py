"""PyTorch through torch.compile (inductor), with constants frozen for inference."""
import torch_rows

torch_rows.serve(compiled=True)
