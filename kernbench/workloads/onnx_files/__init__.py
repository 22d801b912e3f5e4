"""ONNX files as graphs: only the graph is needed; weights may be missing."""
