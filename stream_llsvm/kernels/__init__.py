"""The compiled part: arrays in, arrays out, no classes, no dicts."""
