"""Traffic without kernels: flows between parts of a machine, patterns of them, and how latency grows with load."""
