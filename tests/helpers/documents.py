"""Changes to documents of nested lists and dicts, as functions that tests apply."""

from __future__ import annotations


def change(*keys, to):
    def apply(d):
        for key in keys[:-1]:
            d = d[key]
        d[keys[-1]] = to

    return apply


def remove(*keys):
    def apply(d):
        for key in keys[:-1]:
            d = d[key]
        del d[keys[-1]]

    return apply
