"""The functions of `import kernbench` that show or draw what they return; the command line has the same."""
