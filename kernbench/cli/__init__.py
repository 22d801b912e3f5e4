"""The command line: click commands, nothing but arguments and printing."""
