"""The grid language: what a sweep varies, in YAML."""
