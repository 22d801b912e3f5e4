"""The Triton-like kernel language: what a device kernel may call, and what that costs on a machine."""
