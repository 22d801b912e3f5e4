"""`sip` machines: packages of cubes of PEs, each with its slice of HBM."""
