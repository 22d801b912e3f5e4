"""Lowering: what kernels did becomes rows of a device program, and the times of these rows answer what was asked."""
