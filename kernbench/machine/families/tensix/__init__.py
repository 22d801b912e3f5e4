"""`tensix` machines: a chip of Tensix cores with two networks."""
