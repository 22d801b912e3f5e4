"""Neural networks as programs: their architectures, the operators of a step, and the kernels that do them."""
