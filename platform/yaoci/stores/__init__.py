"""Where the results of runs are kept, one file each."""
