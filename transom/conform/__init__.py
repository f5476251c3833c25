"""A referee for the schedules of other programs: start times beside those of a textbook policy."""
