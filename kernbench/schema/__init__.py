"""YAML files, checked against typed models; each error has file, line and column."""
