import os

# Before PyTorch is loaded: threads that have nothing to do sleep instead of spinning. On two cores that a
# neighbour also uses, a training step is then a third faster.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
