"""A folder of checkpoints, probed in training order."""
