"""From joint choices to their documents, and back."""

from __future__ import annotations

from dataclasses import asdict, fields

import numpy as np

from transom.io.codec import Codec
from transom.io.conversion import tree_document, tree_of
from transom.io.formats import CostDocument, JointDocument
from transom.models import HopCost, Joint


def joint_document(problem: Joint) -> JointDocument:
    """The typed document of a joint choice."""
    return JointDocument(
        tree=tree_document(problem.tree),
        idle=tuple(problem.idle.tolist()),
        sizes=tuple(problem.sizes.tolist()),
        weights=tuple(problem.weights.tolist()),
        cost_weight=problem.cost_weight,
        cost=CostDocument(**asdict(problem.cost)),
        mandatory=tuple(problem.mandatory.tolist()),
        leaf_limits=None if problem.leaf_limits is None else tuple(problem.leaf_limits.tolist()),
    )


def joint_of(document: JointDocument) -> Joint:
    """The joint choice of a typed document.

    Raises
    ------
    ModelError : what it states breaks a condition; the message names the job or the node.
    """
    return Joint(
        tree_of(document.tree),
        np.array(document.idle, np.int64),
        np.array(document.sizes, np.int64),
        np.array(document.weights, np.int64),
        document.cost_weight,
        np.array(document.mandatory, np.int64),
        HopCost(**{field.name: getattr(document.cost, field.name) for field in fields(HopCost)}),
        None if document.leaf_limits is None else np.array(document.leaf_limits, np.int64),
    )


JOINT = Codec(JointDocument, joint_document, joint_of)
