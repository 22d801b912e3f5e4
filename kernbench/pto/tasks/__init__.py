"""Tasks, tensors and what the runtime keeps of them."""
