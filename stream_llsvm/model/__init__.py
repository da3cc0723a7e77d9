"""A model: its block of state, how it grows, runs, is saved, merged and explained."""
