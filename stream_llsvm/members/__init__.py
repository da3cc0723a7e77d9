"""What classifiers are made of: a member says what state it needs and how that state grows.

A member is a folder: ``kernel.py`` is its compiled loop, ``member.py`` the rest. ``registry.py``
lists them.
"""
