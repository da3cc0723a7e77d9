"""The checks of options, under the name that learners know them by."""

from stream_llsvm.options import choice, flag, number, whole

__all__ = ["choice", "flag", "number", "whole"]
