"""Errors of the lab that a user can act on."""


class LabError(ValueError):
    """The lab cannot start or do what was asked; the message says why and what to do."""
