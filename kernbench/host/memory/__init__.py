"""Addresses: allocation, page tables, and the placement of tensors on PEs."""
