"""When the Gram form is worth it."""


def population_is_cheaper(M: int, K: int, n: int) -> bool:
    """Whether loss and gradient from Gram matrices cost less than from the samples.

    The Gram form always sums over all M² pairs, so the answer is no for any other number of samples. On the
    full table it takes 6 products of K²M and 12 of KM² multiplications, the samples 3 of KM³; at one rate for
    all of them the Gram form wins when 2K + 4M < M².

    **Arguments:** `M` the order of the group, `K` the width, `n` the number of training samples.

    >>> population_is_cheaper(71, 512, n=71**2), population_is_cheaper(23, 2048, n=23**2)
    (True, False)
    """
    return n == M**2 and 2 * K + 4 * M < M**2
