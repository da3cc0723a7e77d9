"""Files: records from them and results into them."""
