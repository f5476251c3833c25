"""The commands of ``transom import``."""
