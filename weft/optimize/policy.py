"""What an operator says of planning: how queries are shared, and what computes their nodes from rows."""

from __future__ import annotations

from dataclasses import dataclass

from weft.errors import EngineError
from weft.plan.prices import KERNELS

SHARING = ("auto", "everything", "nothing")
KERNEL_CHOICES = ("auto", *KERNELS)


@dataclass(frozen=True)
class Policy:
    """How queries are shared, and by which kernel nodes are computed from rows; `auto` is what costs least."""

    sharing: str = "auto"
    kernel: str = "auto"


def check_sharing(sharing: str) -> None:
    """Refuse a name that is no way to share."""
    if sharing not in SHARING:
        raise EngineError("bad-sharing", f"there is no sharing {sharing!r}", hint=f"Use {', '.join(SHARING)}.")


def check_kernel(kernel: str) -> None:
    """Refuse a name that is no kernel."""
    if kernel not in KERNEL_CHOICES:
        raise EngineError("bad-kernel", f"there is no kernel {kernel!r}", hint=f"Use {', '.join(KERNEL_CHOICES)}.")
