"""Task graphs on machines of family `ascend`: the runtime, its benches, and replay of measured graphs."""

MACHINE = "ascend_910b2"  # on which graphs run if none is named
