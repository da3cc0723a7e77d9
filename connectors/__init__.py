"""Where records come from and where results go to.

Sources and sinks, one kind a file. The folder lies at the top of the
repository and is the subpackage ``stream_llsvm.connectors``; inside it,
import by that full name.
"""
