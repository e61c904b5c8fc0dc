"""Schemathesis asks the service all that its OpenAPI document allows, and what it does not allow."""

from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection

from sahcns.serving.app import make_app
from sahcns.serving.live import LiveModel
from sahcns.serving.server import Settings
from tests.model.films import films
from tests.model.test_recommender import made


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_every_answer_is_as_documented(tmp_path: Path, mode: GenerationMode) -> None:
    folder = made(films()).save(tmp_path / "run")
    document = schemathesis.openapi.from_asgi(
        "/openapi.json", make_app([LiveModel(folder, print)], Settings(most_body=1 << 26, host=""))
    )
    asked = 0
    for result in document.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]
        if mode == GenerationMode.NEGATIVE and operation.label == "GET /health":
            continue  # it takes nothing that could be wrong

        @seed(0)
        @settings(max_examples=14, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            nonlocal asked
            asked += 1
            # In an address all is text: what schemathesis calls another type there is a list of one.
            case.call_and_validate(excluded_checks=[negative_data_rejection] if case.method == "GET" else [])

        ask()
    assert asked > 100
