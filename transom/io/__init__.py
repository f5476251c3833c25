"""Transom's own files: JSON documents and their schemas; kplib's instances as a foreign format."""

from transom.io.conversion import Document
from transom.io.document_files import read_documents, write_documents
from transom.io.documents import decode, encode
from transom.io.kplib import read_kplib
from transom.io.schema import schema

__all__ = ["Document", "decode", "encode", "read_documents", "read_kplib", "schema", "write_documents"]
