"""How a network improves: examples, methods, and one training loop for all of them.

Read first: `methods.py`, every way to learn as a short function of a distribution and a batch; then
`loop.py`.

    methods.py      supervised, posterior, k-best, 1-BS, m-BS, REINFORCE and MAPO, each once
    loop.py         Trainer, Lesson, Settings, Step, Loss: batches, gradients, averages, checkpoints
    fit.py          fit and score: train or measure a network of your own in one call
    examples.py     Examples: inputs, answers and what is known; batches cut from them
    mixture.py      two kinds of examples in equal shares
    metrics.py      how many answers, sentences and symbols are right, by length
    schedule.py     how the learning rate changes over the training
    tensor_file.py  tensors and facts in one checked file: checkpoints and weights
    packed_file.py  data sets in such files: which tensors each kind of data has
    whole_file.py   a file that is written whole or not at all

A method knows no task and no kind of network.
"""
