"""The kinds of traffic of `kernbench probe`."""
