"""Every number the README quotes, each a ratio to what a user would otherwise run, measured in one process."""
