"""Traces: what a run did and when, as tracks, slices, flows and counters, and the files of Perfetto that hold them."""
