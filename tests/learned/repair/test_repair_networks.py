"""The networks of Table II: their sizes, and what the policy makes of them."""

from __future__ import annotations

import pytest

from tests.learned.repair.made import actor_with
from transom.errors import SpecError
from transom.learned.repair import networks
from transom.learned.repair.process import SEEN

torch = pytest.importorskip("torch", reason="needs the extra 'learned'")

FIVE = {"fcn-1": 42_724, "fcn-2": 46_884, "fcn-3": 60_804, "cnn-1": 71_300, "cnn-2": 71_584, "cnn-3": 117_532}
FOUR = {"cnn-1": 71_260, "cnn-2": 71_504, "cnn-3": 117_372}


def parameters(network: torch.nn.Module) -> int:
    return sum(value.numel() for value in network.parameters())


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_parameters_of_five_rows(name: str) -> None:
    assert parameters(networks.network(name)) == FIVE[name]


@pytest.mark.parametrize("name", FOUR)
def test_parameters_of_four_rows(name: str) -> None:
    assert parameters(networks.network(name, rows=4)) == FOUR[name]


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_the_critic_differs_in_the_last_layer_alone(name: str) -> None:
    actor, critic = networks.network(name), networks.network(name, outputs=1)
    of_actor, of_critic = ([tuple(value.shape) for value in each.parameters()] for each in (actor, critic))
    assert of_actor[:-2] == of_critic[:-2]
    assert (of_actor[-1], of_critic[-1]) == ((100,), (1,))


@pytest.mark.parametrize("name", ["cnn-1", "cnn-3"])
def test_filters_begin_with_differences_of_switches(name: str) -> None:
    """All nodes of one switch look alike to a new network, whichever switch it is, and where it changes is seen."""
    actor = networks.network(name)
    seen = torch.zeros(3, 5, SEEN)
    seen[0, :2], seen[1, :2], seen[2, 0, 50:] = 0.1, 0.9, 0.01
    said = actor(seen).detach()
    assert torch.allclose(said[0], said[1], atol=1e-5)
    assert float((said[2] - said[0]).abs().max()) > 1e-4


def test_unknown_ones_are_refused() -> None:
    with pytest.raises(SpecError, match="cnn-4"):
        networks.network("cnn-4")
    with pytest.raises(SpecError, match="rows must be one of 5, 4, got 6"):
        networks.network("cnn-1", rows=6)


@pytest.mark.parametrize("name", ["fcn-2", "cnn-3"])
def test_weights_go_out_and_come_back(name: str) -> None:
    actor = networks.network(name)
    weights = networks.weights_of(actor)
    first = "actor.0.weight"
    assert weights[first].shape == ((64, 500) if name == "fcn-2" else (16, 5, 10))
    again = actor_with(name, 5, weights)
    seen = torch.rand(3, 500) if name == "fcn-2" else torch.rand(3, 5, 100)
    assert torch.equal(actor(seen), again(seen))
