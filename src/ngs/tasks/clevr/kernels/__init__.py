"""The language of programs for kernels in Triton, which comes with PyTorch for GPUs: nothing here is imported
where it is missing."""
