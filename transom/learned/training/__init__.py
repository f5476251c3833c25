"""What trainings of all learned parts share: the loop, the state on disk, the device."""
