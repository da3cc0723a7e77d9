"""Anchors: linear machines over local codes. LL-SVM, SAPL, LCC, CSVM."""
