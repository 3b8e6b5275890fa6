# Written by tools/generate.py from _async. Do not edit.
"""The client for plain programs."""
