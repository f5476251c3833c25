"""When waiting jobs will start: replays of sampled futures, calibrated on the past."""
