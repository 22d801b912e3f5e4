"""Longest paths by recursion over predecessors, with memoisation."""

from functools import cache


def longest_ends(before, floor, cost):
    """`before[node]` lists (node before, gain). Answers when each node ends; RecursionError where there is no order."""

    @cache
    def end(node):
        return cost[node] + max([floor[node], *(end(other) + gain for other, gain in before[node])])

    return [end(node) for node in range(len(before))]
