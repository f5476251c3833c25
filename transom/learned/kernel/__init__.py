"""A kernel policy: one small network scores each of the first 128 waiting jobs; trained in the locked environment."""
