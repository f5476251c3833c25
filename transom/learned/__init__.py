"""Learned components: policies that a network decides, how they are trained, and what is shipped of them.

Using what is shipped needs nothing beside Transom. Training, adaptation and environments need the packages of ``pip
install 'transom[learned]'``, which are imported where they are used; nothing here imports them.
"""
