"""The members' loops, a file each: score and learn a block of rows."""
