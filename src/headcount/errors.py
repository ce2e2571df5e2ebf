"""The one exception for mistakes of the user: shown as its message, never as a stack trace."""


class UserError(Exception):
    """A fault that the user can repair: the message names path, value, what is allowed and the next step."""


class NonFiniteError(UserError):
    """Training met too many non-finite losses or gradients in a row."""


class InterruptedRun(Exception):  # noqa: N818 - nothing went wrong
    """Training was asked to stop by a signal; a checkpoint was written and the run can go on."""
