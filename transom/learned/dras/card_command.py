"""What the command on the card of an agent says of its settings."""

from __future__ import annotations

import shlex
from typing import Any

from transom.errors import DocumentError, SpecError
from transom.learned.card_facts import same
from transom.learned.checkpoints import Card
from transom.learned.dras.process.process import AgentConfig
from transom.learned.dras.updates.settings import TrainingSettings, agent_spec

_BEGINS = "transom train dras "
_FLAGS = ("--keep", "--reselect", "--overlap", "--paper-size")
_WHO = "its command says"


def check_command(card: Card) -> None:
    """Refuse a card whose settings are not those that its command makes; commands of others say nothing.

    Raises
    ------
    DocumentError : the first fact that the command contradicts, by its name.
    """
    if not card.command.startswith(_BEGINS):
        return
    said, usual, scheme = _options(card.command), TrainingSettings(), AgentConfig()
    try:
        rate, discount = (float(said[name]) if name in said else None for name in ("--learning-rate", "--discount"))
        agent = agent_spec(said.get("--agent", usual.agent), rate, discount)
        wanted = {
            "agent": agent,
            "reward": said.get("--reward", usual.reward),
            "levels": int(said.get("--levels", scheme.levels)),
            "window": int(said.get("--window", scheme.window)),
            "head": int(said.get("--reservation") == "head"),
            "keep": int("--reselect" not in said),
            "batch": int(said.get("--batch", usual.batch)),
            **({"longest": int(said["--longest"])} if "--longest" in said else {}),
        }
        seed = int(said.get("--seed", 0))
    except (ValueError, SpecError) as error:
        raise DocumentError(f"card: command: {error}") from None
    for name, value in wanted.items():
        same(f"settings.{name}", card.settings.get(name), value, _WHO)
    same("seed", card.seed, seed, _WHO)
    called = "decima-pg" if wanted["levels"] == 1 else "dras-dql" if agent.partition(":")[0] == "dql" else "dras-pg"
    same("name", card.name, said.get("--name", called), _WHO)
    if "--paper-size" not in said:
        hidden = said.get("--hidden", ",".join(map(str, usual.hidden)))
        same("network", card.network, f"scorer-{hidden.replace(',', 'x')}", _WHO)


def _options(command: str) -> dict[str, Any]:
    """The options of a command by name; of those that are given several times, the last one."""
    try:
        words = shlex.split(command.removeprefix(_BEGINS))
        found: dict[str, Any] = {}
        at = 1  # behind the trace
        while at < len(words):
            flag = words[at] in _FLAGS
            found[words[at]] = True if flag else words[at + 1]
            at += 1 if flag else 2
    except (ValueError, IndexError):
        raise DocumentError(f"card: command is none of transom train dras: {command!a:.80}") from None
    return found
