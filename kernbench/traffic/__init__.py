"""Traffic without kernels: flows between parts of a machine, patterns of them, and how latency grows with load."""

PATTERN_NAMES = ("uniform", "transpose", "bitcomp", "hotspot", "neighbor", "tornado")  # of `patterns.PATTERNS`
