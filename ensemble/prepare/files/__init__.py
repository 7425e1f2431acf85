"""Many files as one record, read in blocks that are kept."""
