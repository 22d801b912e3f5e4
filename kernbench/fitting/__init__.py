"""Machines fitted to measurements: figures of a topology that reproduce measured times of benches and flows."""
