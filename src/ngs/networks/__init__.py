"""Networks that are ready to use: PyTorch modules from inputs to scores.

Read first: `lenet.py`, images of symbols to scores; then `pointer.py`, a text to a distribution over
sequences.

    lenet.py            small convolutional networks for images of single symbols
    augmentation.py     random affine and elastic changes of such images
    pointer.py          the pointer network, an encoder and a decoder with attention; SequenceNetwork

A network that only one task can use lies with the task.
"""
