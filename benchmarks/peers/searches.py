"""Time a kind of decoding: the same for ours and the peers, whose environments have no headcount; standard library."""

import time


def timed(search, batches):
    """Decode all batches greedily and with beam 4; return sentences per CPU-second and the pieces, by kind of search.

    `search(sources, steps, beam)` decodes one batch. The first one is decoded once before, for warming up.
    """
    rates, pieces = {}, {}
    for name, beam in (("beam4", 4), ("greedy", 1)):
        search(*batches[0], beam)
        started = time.process_time()
        found = [search(*batch, beam) for batch in batches]
        rates[name] = sum(map(len, found)) / (time.process_time() - started)
        pieces[name] = [sentence for batch in found for sentence in batch]
    return rates, pieces
