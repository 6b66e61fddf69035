"""Marginals are gradients: differentiate the log of one sum and get the posterior of every symbol.

With Z the summed probability of all sentences, d log Z / d log p(symbol at t) is the probability that
the symbol stands at t, given that the whole is a sentence. Counting in exact samples agrees.
"""

import torch

from ngs import Grammar, independent

# Words over a and b that read the same from both ends: a constraint between far positions.
PALINDROMES = Grammar.parse("""
    word: "a" word "a" | "b" word "b" | "a" | "b"
""")

probs_of_a = torch.tensor([0.9, 0.5, 0.5, 0.2, 0.6], dtype=torch.float64)
log_probs = torch.stack([probs_of_a, 1 - probs_of_a], -1).log()[None].requires_grad_()

p = independent(PALINDROMES, log_probs)
(gradient,) = torch.autograd.grad(p.log_z.sum(), log_probs)

many = 20_000
repeated = independent(PALINDROMES, log_probs.detach().expand(many, -1, -1))
drawn = repeated.sample(torch.Generator().manual_seed(0)).symbols
counted = (drawn == PALINDROMES.symbol_id("a")).double().mean(0)

print(f"p(palindrome) = {p.log_z.exp().item():.4f}\n")
print("position  p(a) alone  p(a) in a palindrome")
for t in range(5):
    print(f"{t:8}  {probs_of_a[t].item():10.2f}  {gradient[0, t, 0].item():20.4f}")
print()
print("positions 0 and 4 now agree:", torch.allclose(gradient[0, 0], gradient[0, 4]))
print("the gradient is `marginals`:", torch.allclose(gradient, p.marginals))
print(f"{many} samples agree within 0.02:", bool(((counted - gradient[0, :, 0]).abs() < 0.02).all()))
print("every sample is a palindrome:", bool((drawn == drawn.flip(1)).all()))

# The same through a network's softmax: the pull on each logit is (posterior - prior), so that raising
# log Z teaches the network to agree with the grammar without any label.
logits = log_probs.detach().clone().requires_grad_()
independent(PALINDROMES, logits.log_softmax(-1)).log_z.sum().backward()
assert logits.grad is not None
print("the pull on the logits is posterior - prior:", torch.allclose(logits.grad, gradient - log_probs.exp()))
