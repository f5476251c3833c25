"""Where torch computes."""

from __future__ import annotations

from transom.errors import SpecError


def chosen_device(name: str) -> str:
    """The device of torch that a name stands for; ``auto`` is a GPU if there is one, else the processor.

    Raises
    ------
    SpecError : there is no such device, or nothing can be read back from it.
    """
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError) as error:
        raise SpecError(f"--device {name}: {str(error).splitlines()[0]}") from None
    return name
