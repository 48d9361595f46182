"""A file in pieces of any size, and the digest of what came in such pieces."""

import hashlib
import random

SIZES = (1, 100, 1400, 16384, 16385, 65536, 200000)


def pieces(file):
    with open(file, "rb") as stream:
        while piece := stream.read(random.choice(SIZES)):
            yield piece


def digest(read):
    """Of all that read(size) brings."""
    whole = hashlib.sha256()
    while piece := read(random.choice(SIZES)):
        whole.update(piece)
    return whole.hexdigest()
