"""The page of ``transom tune``."""
