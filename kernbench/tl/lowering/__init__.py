"""Rows of the device program for what a kernel calls: DMA, plans of operators, messages between PEs."""
