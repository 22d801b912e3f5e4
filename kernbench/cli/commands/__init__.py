"""The commands, each with its options; what a command does is in `cli.actions`, imported when it is called."""
