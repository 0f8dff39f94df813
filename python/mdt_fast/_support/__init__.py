"""Checks of arguments, seeds, threads, memory limits, warnings, files and the hook to plots."""
