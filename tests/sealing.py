"""Descriptions of folders, changed by hand and with the digest of what they hold."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sahcns.files import DIGEST, digest_of


def write_sealed(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(json.dumps({**values, DIGEST: digest_of(values)}), "utf-8")
