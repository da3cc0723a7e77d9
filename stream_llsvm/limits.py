"""What a stranger can make grow, and how far: each number with its reason, and its answer.

Whatever a client can send without end (bytes, names, requests, silence) has a bound here. What is
beyond it is refused, or hung up on, while that is cheap. Bounds that depend on the machine or the
data are options as well.
"""

from __future__ import annotations

# A request's body, and the records in it.
#: Bytes (``--body-bytes``). Some 10,000 records of 50 fields; beyond it 413.
BODY_BYTES = 8_000_000
#: Bytes of all bodies that are held before they are whole; beyond it 429.
BODIES_BYTES = 16 * BODY_BYTES
#: Seconds for a chunked body to come; beyond it 408. Memory is held meanwhile.
BODY_SECONDS = 20.0
#: Records of one request, whose answer is built in one piece; beyond it 400.
RECORDS = 10_000
#: Levels of lists and objects in a record. Fields are made of the first 8; what reads JSON goes
#: down to 1,024 and what writes it to 254: beyond this number a record is refused by itself.
LEVELS = 100
#: Bytes of an id, as of a key; a hundred thousand ids are kept. Beyond it a record is refused.
ID_BYTES = 1_000
#: Bytes of a label: each class is kept for good, and shown. Beyond it a record is refused.
LABEL_BYTES = 1_000
#: Classes that are learned (``--max-classes``). Each costs weights in every member and time with
#: every record; a label beyond is a mistake, such as an id, or ill will: its record is refused.
CLASSES = 1_000

# What waits and what is kept for a model.
#: Records that wait for the model (``--waiting``); beyond it 429.
WAITING = 50_000
#: Ids that are remembered, each with its answer (``--ids``); the oldest are forgotten.
IDS = 100_000
#: Seconds for an answer: kernels may have to be compiled first; then 503.
ANSWER_SECONDS = 300.0

# A connection.
#: Connections; beyond it the one that has waited longest for a request is hung up on, so that a
#: flood of idle ones costs nobody an answer. At most half of the files that may be open.
CONNECTIONS = 2_000
#: Connections beyond these, while all others are being answered. Only health is answered then.
SPARE_CONNECTIONS = 100
#: Requests sent ahead on a connection, each some kilobytes once it is parsed; then it is closed.
PIPELINED = 16
#: Bytes of a request before its body; then the connection is closed.
HEAD_BYTES = 65_536
#: Seconds for a request to come whole; then the connection is closed.
REQUEST_SECONDS = 30.0
#: Seconds in which a client reads nothing of its answer; then the connection is closed.
UNREAD_SECONDS = 30.0
#: Seconds that a connection may say nothing between two requests.
IDLE_SECONDS = 75
