"""SQLite: the rows of a table as records, and the worked example of a connector."""
