"""Whether a congestion control of your own has the properties of every algorithm."""

from __future__ import annotations

import json

from dumbbell import _engine, control
from dumbbell.control import Control
from dumbbell.errors import ControlError, refusal
from dumbbell.external import title
from dumbbell.library import Library
from dumbbell.parts import External


def check(algorithm: Control | type[Control] | Library) -> None:
    """Check a congestion control with the events by which those of the registry are tested.

    Random acknowledgements, losses, timeouts, marks, recoveries and idle periods must leave a window that grows while
    nothing is lost, stays finite and at least one segment, does not grow in a recovery or while it does not limit the
    sender, is not raised by a loss, restarts after a timeout, and depends on nothing but the events.

    Parameters
    ----------
    algorithm
        A `Control`, a class of it whose parameters all have defaults, or a `Library`.

    Raises
    ------
    ControlError
        It violates a property; the message says which, in a sentence.
    Exception
        What the control raises itself, with a note that names the method.

    Examples
    --------
    >>> import dumbbell
    >>> class Frozen(dumbbell.Control):
    ...     def on_ack(self, ack):
    ...         pass
    ...
    ...     def on_congestion(self, congestion):
    ...         self.cwnd = congestion.loss_window
    >>> try:
    ...     dumbbell.check(Frozen)
    ... except dumbbell.ControlError as error:
    ...     print(error)
    Frozen: the window never grows: it is 2000 bytes after 50 acknowledgements without a loss, and was 2000
    """
    made: object = algorithm
    if isinstance(algorithm, type) and issubclass(algorithm, Control):
        made = algorithm()
    if not isinstance(made, External):
        accepted = "a dumbbell.Control, a subclass of it, or a dumbbell.Library"
        raise refusal("algorithm", type(made).__name__, accepted, quoted=False)
    stated = made.stated()
    violation = _engine.check(
        stated["name"], stated["digest"], json.dumps(stated["parameters"]), control.factory
    )
    if violation is not None:
        raise ControlError(f"{title(made)}: {violation}")
