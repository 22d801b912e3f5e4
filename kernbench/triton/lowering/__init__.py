"""How a Triton program meets the machine: programs to PEs, block accesses to transfers, commands to rows."""
