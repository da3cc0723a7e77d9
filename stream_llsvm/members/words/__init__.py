"""Words: a table with a few numbers a name, for records that name few of many."""
