"""The command line: click commands, only arguments and printing."""
