"""Kafka: records from topics and results into them."""
