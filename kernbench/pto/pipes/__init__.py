"""TPipe: FIFOs between cores of a cluster."""
