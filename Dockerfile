# The service, with models from a folder of this machine:
#
#   docker build --tag sahcns .
#   docker run --publish 8000:8000 --volume "$PWD/runs:/runs:ro" sahcns /runs/shop
#
# torch's build for CPUs is many times smaller: give its index by --build-arg PIP_EXTRA_INDEX_URL=...
FROM python:3.12-slim AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
ARG PIP_EXTRA_INDEX_URL
COPY requirements.lock .
RUN --mount=type=bind,from=wheel,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-deps --require-hashes --requirement requirements.lock && \
    pip install --no-cache-dir "$(ls /wheels/*.whl)[serve]" && useradd --create-home sahcns
USER sahcns
EXPOSE 8000
HEALTHCHECK CMD python -c "import urllib.request as ask; ask.urlopen('http://127.0.0.1:8000/health', timeout=3)"
ENTRYPOINT ["sahcns", "serve", "--host", "0.0.0.0"]
