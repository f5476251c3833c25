"""Bench results as one self-contained HTML page."""

from transom.report.page import render, write_report

__all__ = ["render", "write_report"]
