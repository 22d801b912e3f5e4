"""The API of a bench: tensors, streams, process groups and collectives, in the shape of torch."""
