"""Transom's own files: JSON documents and their schemas; foreign formats of instances."""

from transom.io.conversion import Document, name_of
from transom.io.document_files import (
    read_allocations,
    read_documents,
    read_knapsacks,
    read_placements,
    read_selections,
    read_windows,
    read_workflows,
    write_documents,
)
from transom.io.documents import decode, encode
from transom.io.kplib import read_kplib
from transom.io.mknap import read_mknap
from transom.io.mokp import read_hadi, read_kirlik, read_mokp
from transom.io.nsa_windows import PeriodWindow
from transom.io.schema import schema

__all__ = [
    "Document",
    "PeriodWindow",
    "decode",
    "encode",
    "name_of",
    "read_allocations",
    "read_documents",
    "read_hadi",
    "read_kirlik",
    "read_knapsacks",
    "read_kplib",
    "read_mknap",
    "read_mokp",
    "read_placements",
    "read_selections",
    "read_windows",
    "read_workflows",
    "schema",
    "write_documents",
]
