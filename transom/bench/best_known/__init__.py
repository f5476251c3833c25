"""The best known result of every instance of a folder."""
