"""Handler kinds, one file each: what carries a method."""
