"""Layers whose kernels are our own, in Triton, which comes with PyTorch for GPUs: nothing here is imported
where it is missing."""
