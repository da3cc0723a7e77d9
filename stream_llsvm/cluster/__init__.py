"""Many learners of one stream: rounds of slices, a merge after each, and one commit.

Examples
--------
>>> from stream_llsvm.cluster import ClusterEngine

"""

from stream_llsvm.cluster.engine import ClusterEngine

__all__ = ["ClusterEngine"]
