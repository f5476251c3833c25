"""MARS: a policy learnt by PPO or a one-step actor-critic, and the decision maker that chooses when to ask it."""
