"""Networks on machines of family sip: each operator becomes launches of kernels, through the context of benches."""
