"""The decision process of DRAS: what an agent sees, does and is rewarded for."""
