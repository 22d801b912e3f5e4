"""The kinds of programs that can be run: each is a front-end, a line in `registry`. No other package names one."""
