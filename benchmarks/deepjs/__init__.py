"""The experiment of DeepJS with all its controls: see ``python -m benchmarks.deepjs --help``."""
