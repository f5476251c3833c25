"""The table of ``auto``, learnt from rows."""
