"""Reports: tables on the terminal, plots, report files and machine diagrams. Those of a sweep need its table alone."""
