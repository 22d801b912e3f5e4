"""Networks on chips of Tensix cores: a library of Tanto programs, and the steps that are made of them."""
