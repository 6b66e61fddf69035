import os

# Before PyTorch is loaded: threads that have nothing to do sleep instead of spinning, so that a training step
# does not slow down by more than its share where other programs use the same cores.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
