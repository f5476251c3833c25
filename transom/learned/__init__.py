"""Learned components: policies that a network decides, how they are trained, and what is shipped of them.

The packages of ``pip install 'transom[learned]'`` are imported where they are used; nothing here imports them.
"""
