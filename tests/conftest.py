"""What holds for all tests.

Without a GPU the Triton kernels run through Triton's interpreter, which must be known before they are imported. What
hypothesis draws may take its time: how long a first example needs on a busy machine says nothing about the code. No proxy
stands between a test and a server of its own: a process keeps the proxies that it found at its first download, also those
that a test has made up. Nothing that a test writes need outlive the power, so that no file waits for the disk.
"""

import os
from contextlib import suppress
from dataclasses import replace
from functools import cache

import torch
from hypothesis import settings

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    with suppress(ImportError, AttributeError):  # of a Triton whose interpreter is another
        from triton.runtime import interpreter

        # Half of its time: Triton's language is made ready anew for every call of a function, and whole numbers are looked
        # through for an overflow, which sizes that fit into a test do not come near.
        interpreter._LangPatchScope.restore = lambda scope: None
        interpreter._patch_lang = cache(interpreter._patch_lang)
        builder = interpreter.interpreter_builder
        builder.options = replace(builder.options, sanitize_overflow=False)

os.fsync = lambda fd: None

os.environ["no_proxy"] = "127.0.0.1"

settings.register_profile("sahcns", deadline=None)
settings.load_profile("sahcns")
