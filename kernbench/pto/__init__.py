"""Task graphs on machines of family `ascend`: the runtime, its benches, and replay of measured graphs."""
