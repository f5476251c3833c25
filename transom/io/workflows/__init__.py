"""Files of workflows in the formats of others."""
