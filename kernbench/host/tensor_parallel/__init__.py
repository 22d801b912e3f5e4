"""Tensor parallelism in the manner of Megatron: layers whose weights the ranks share, and the regions between them."""
