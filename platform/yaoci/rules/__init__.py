"""Rules of `check`, one finding each."""
