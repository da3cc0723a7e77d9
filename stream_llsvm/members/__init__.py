"""What classifiers are made of: a member says what state it needs and how that state grows.

The loops themselves are the kernels in ``kernels/members``, one file for each member here.
"""
