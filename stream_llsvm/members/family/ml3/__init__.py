"""Latent locally linear machines: several machines a class, and each record's best code of them."""
