"""Cost of the Gram form compared with the sum over samples."""


def population_is_cheaper(M: int, K: int, n: int) -> bool:
    """Return whether loss and gradient cost less from Gram matrices than from the samples.

    The Gram form always sums over all M² pairs, so the answer is False for any other number of samples. On the
    full table it takes 6 products of K²M and 12 of KM² multiplications; the samples take 3 of KM³. If all products
    run at the same rate, the Gram form is cheaper for 2K + 4M < M².

    **Arguments:**

    - `M`: order of the group.
    - `K`: number of hidden units.
    - `n`: number of training samples.

    >>> population_is_cheaper(71, 512, n=71**2), population_is_cheaper(23, 2048, n=23**2)
    (True, False)
    """
    return n == M**2 and 2 * K + 4 * M < M**2
