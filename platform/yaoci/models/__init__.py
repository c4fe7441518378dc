"""Wires to models, one file each."""
