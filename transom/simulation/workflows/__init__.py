"""Replays of workflows: the jobs that their tasks become, figures by task and by workflow, recordings."""
