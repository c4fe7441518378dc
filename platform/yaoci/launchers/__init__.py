"""Who starts, queues and takes over a run, one file each."""
