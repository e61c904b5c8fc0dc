"""What holds for all tests.

Without a GPU the Triton kernels run through Triton's interpreter, which must be known before they are imported. What
hypothesis draws may take its time: how long a first example needs on a busy machine says nothing about the code. No proxy
stands between a test and a server of its own: a process keeps the proxies that it found at its first download, also those
that a test has made up.
"""

import os

import torch
from hypothesis import settings

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

os.environ["no_proxy"] = "127.0.0.1"

settings.register_profile("sahcns", deadline=None)
settings.load_profile("sahcns")
