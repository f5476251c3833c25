"""DeepJS (Li and Hu, 2019): a network scores pairs of task and machine, trained by policy gradient over replays."""
