"""The one exception for mistakes of the user: shown as its message, never as a stack trace."""


class UserError(Exception):
    """A fault that the user can repair: the message names path, value, what is allowed and the next step."""

    status = 2
    """Exit status of the command line."""


class NonFiniteError(UserError):
    """Training met too many non-finite losses or gradients in a row."""

    status = 3


class FolderInUseError(UserError):
    """The run folder belongs to another process that is at work."""

    status = 4


class InterruptedRun(Exception):  # noqa: N818 - nothing went wrong
    """Training was asked to stop by a signal; a checkpoint was written and the run can go on."""

    status = 75
    """Exit status that asks for the same command again (sysexits' EX_TEMPFAIL)."""
