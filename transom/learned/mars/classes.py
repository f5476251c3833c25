"""Classes of workflows, and which checkpoint of a folder was trained on those at hand.

References
----------
MARS, section III-4: one network for similar workflows, which a comparison of their graphs finds.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

import msgspec

from transom.errors import SpecError
from transom.learned.checkpoints import read_card
from transom.learned.training.state import STATE
from transom.models.workflow import Workflow
from transom.registry import labelled, parse


def class_of(workflow: Workflow) -> str:
    """16 hexadecimal digits of which programs a workflow runs, and of which runs after which.

    How many tasks run a program does not count: the workflows of one application are a class, whatever their size, and
    combining compatible tasks changes nothing.
    """
    names = workflow.programs
    pairs = {(names[parent], names[child]) for parent, child in workflow.edges.tolist()}
    terms = msgspec.json.encode((sorted({*names}), sorted(pairs)))
    return blake2b(terms, digest_size=8).hexdigest()


def classes_of(workflows: Iterable[Workflow]) -> list[str]:
    """The distinct classes of some workflows, sorted."""
    return sorted({class_of(flow) for flow in workflows})


def fitting(folder: Path, workflows: Iterable[Workflow]) -> Path:
    """The checkpoint of MARS in a folder that was trained on all classes of some workflows, and on the fewest others.

    Of several such ones it is the first by name.

    Raises
    ------
    SpecError : there is none.
    DocumentError : a card in the folder cannot be read.
    """
    wanted, found = {class_of(flow): flow.name for flow in workflows}, []
    for path in sorted(folder.glob("*.safetensors")):
        if path.name != STATE and (card := read_card(path)).component == "mars":
            found.append((len(classes := card.settings.get("classes", ())), path, wanted.keys() - set(classes)))
    if fit := [(count, path) for count, path, missing in found if not missing]:
        return min(fit)[1]
    there = "; ".join(f"{path.name} not on those like {wanted[min(missing)]!r}" for _, path, missing in found)
    raise SpecError(f"{folder}: no checkpoint of mars in it was trained on such workflows: {there or 'there is none'}")


def chosen_policy(text: str, workflows: Iterable[Workflow]) -> str:
    """``[LABEL=]SPEC``, in which ``model=FOLDER`` of ``mars`` or ``mars-learned`` becomes the file that fits.

    Raises
    ------
    SpecError, DocumentError : as of :func:`fitting`; or the specification is malformed.
    """
    label, spec = labelled(text)
    name, settings = parse(spec)
    if name not in ("mars", "mars-learned") or not (folder := Path(settings.get("model", "-"))).is_dir():
        return text
    settings["model"] = str(fitting(folder, workflows))
    made = f"{name}:{','.join(f'{key}=[{value}]' for key, value in settings.items())}"
    return made if text == spec else f"{label}={made}"
