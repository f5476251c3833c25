"""The commands of ``transom generate``, a module each."""
