from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from transom.errors import DocumentError
from transom.learned.dras.process.paper_scorer import Agent, PaperScorer, PaperShape

torch = pytest.importorskip("torch")

from transom.learned.dras.training.paper_network import PaperNetwork  # noqa: E402


@pytest.mark.parametrize(
    ("agent", "nodes", "first", "second", "inputs", "parameters"),
    [
        ("pg", 4360, 4000, 1000, 4460, 21_890_053),
        ("dql", 4360, 4000, 1000, 4362, 21_449_004),
        ("pg", 12_076, 10_000, 4000, 12_176, 161_960_053),
        # The paper prints 161,764,004, which is what the input of DRAS-PG would give.
        ("dql", 12_076, 10_000, 4000, 12_078, 160_784_004),
    ],
)
def test_they_have_as_many_parameters_as_table_iii_says(
    agent: Agent, nodes: int, first: int, second: int, inputs: int, parameters: int
) -> None:
    shape = PaperShape(agent, nodes, 50, first, second)
    with torch.device("meta"):
        network = PaperNetwork(shape)
    assert shape.inputs == inputs
    assert sum(weight.numel() for weight in network.parameters()) == shape.parameters == parameters


def observation(rng: np.random.Generator, shape: PaperShape, groups: int) -> tuple[NDArray[np.float32], ...]:
    """Jobs, and nodes that are alike in so many groups."""
    features = rng.random((shape.window, 4)).astype(np.float32)
    rows = rng.random((groups, 2)).astype(np.float32)
    return features, rows[np.sort(rng.integers(0, groups, shape.nodes))].reshape(-1)


def plain(
    network: PaperNetwork, features: NDArray[np.float32], context: NDArray[np.float32], count: int
) -> list[float]:
    """The network as the paper draws it, from layers of torch, one input after another."""
    shape = network.shape
    filtered = torch.nn.Conv2d(1, 1, (1, 2))
    filtered.weight.data = network.filter.data.reshape(1, 1, 1, 2)
    filtered.bias.data = network.filter_bias.data
    layers: list[torch.nn.Module] = [filtered, torch.nn.Flatten()]
    for name in ("first", "second"):
        dense = torch.nn.Linear(*shape.shapes()[name], bias=False)
        dense.weight.data = getattr(network, name).data.T
        layers += [dense, torch.nn.LeakyReLU(0.01)]
    out = torch.nn.Linear(shape.second, shape.jobs)
    out.weight.data, out.bias.data = network.out.data.T, network.out_bias.data
    whole = torch.nn.Sequential(*layers, out)
    nodes = context.reshape(-1, 2)
    if shape.agent == "pg":
        jobs = np.zeros((shape.window, 4), np.float32)
        jobs[:count] = features[:count]
        inputs = [np.concatenate((jobs.reshape(-1, 2), nodes))]
    else:
        inputs = [np.concatenate((job.reshape(2, 2), nodes)) for job in features[:count]]
    with torch.no_grad():
        made = [whole(torch.from_numpy(each)[None, None]).flatten().tolist() for each in inputs]
    return made[0][:count] if shape.agent == "pg" else [value for (value,) in made]


@settings(max_examples=30)
@given(st.sampled_from(["pg", "dql"]), st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32), st.data())
def test_torch_and_numpy_compute_what_the_paper_draws(
    agent: Agent, nodes: int, window: int, seed: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    shape = PaperShape(agent, nodes, window, 7, 5)
    network = PaperNetwork(shape, rng)
    with torch.no_grad():
        for weight in network.parameters():
            weight += torch.from_numpy(rng.normal(size=tuple(weight.shape)).astype(np.float32))
    count = data.draw(st.integers(1, window))
    features, context = observation(rng, shape, data.draw(st.integers(1, nodes)))
    wanted = plain(network, features, context, count)
    # What stands beyond the count is nobody's business.
    features[count:] = np.nan if agent == "dql" else 1e3
    scorer = PaperScorer(shape, {name: weight.detach().numpy() for name, weight in network.named_parameters()})
    assert scorer.scores(features, context, count) == pytest.approx(wanted, rel=1e-3, abs=1e-3)
    batch = [torch.from_numpy(each)[None].repeat_interleave(2, 0) for each in (features, context)]
    with torch.no_grad():
        made = network(*batch, torch.tensor([count, 1]))
    assert made[0, :count].tolist() == pytest.approx(wanted, rel=1e-3, abs=1e-3)
    assert (made[0, count:] == -torch.inf).all()
    assert (made[1, 1:] == -torch.inf).all()
    assert torch.isfinite(made[1, 0])


def test_sums_of_thousands_of_nodes_are_exact_enough() -> None:
    rng = np.random.default_rng(3)
    shape = PaperShape("pg", 4360, 50, 64, 8)
    network = PaperNetwork(shape, rng)
    with torch.no_grad():
        network.out *= 100
    features, context = observation(rng, shape, 300)
    scorer = PaperScorer(shape, {name: weight.detach().numpy() for name, weight in network.named_parameters()})
    wanted = network(torch.from_numpy(features)[None], torch.from_numpy(context)[None], torch.tensor([50]))[0]
    assert scorer.scores(features, context, 50) == pytest.approx(wanted.tolist(), abs=1e-3)


def test_first_choices_are_about_equally_likely() -> None:
    rng = np.random.default_rng(0)
    shape = PaperShape("pg", 64, 50, 40, 30)
    features, context = observation(rng, shape, 9)
    scores = PaperNetwork(shape, rng)(
        torch.from_numpy(features)[None], torch.from_numpy(context)[None], torch.tensor([50])
    )
    chances = torch.softmax(scores.detach(), dim=1)
    assert 0.015 < float(chances.min()) < float(chances.max()) < 0.025


def test_gradients_of_masked_candidates_are_zero_and_all_are_finite() -> None:
    rng = np.random.default_rng(1)
    for agent in ("pg", "dql"):
        shape = PaperShape(agent, 6, 4, 5, 3)
        network = PaperNetwork(shape, rng)
        features, context = observation(rng, shape, 2)
        given = torch.from_numpy(features)[None].requires_grad_()
        scores = network(given, torch.from_numpy(context)[None], torch.tensor([2]))
        torch.log_softmax(scores, dim=1)[0, 0].backward()
        assert all(torch.isfinite(weight.grad).all() for weight in network.parameters())
        assert given.grad is not None
        assert (given.grad[0, 2:] == 0).all()


def test_other_weights_are_refused() -> None:
    network = PaperNetwork(PaperShape("pg", 6, 4, 5, 3), np.random.default_rng(0))
    weights = {name: weight.detach().numpy() for name, weight in network.named_parameters()}
    for nodes, changed in ((7, weights), (6, {**weights, "more": weights["out"]})):
        with pytest.raises(DocumentError, match="not the weights of paper-pg"):
            PaperScorer(PaperShape("pg", nodes, 4, 5, 3), changed)
