"""Servers of jobs: engines, DMA channels, processors."""
