"""Results of the bench as one page that needs nothing else: no network, no other file."""

from transom.report.page import render, write_report

__all__ = ["render", "write_report"]
