# proxyctl as an image. Build it in the checkout, and run it in the folder of your files:
#   docker build --tag proxyctl .
#   docker run --rm --volume "$PWD:/work" --env PROXYCTL_HOST --env PROXYCTL_PASSWORD proxyctl plan
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
COPY pyproject.toml README.md LICENSE /src/
COPY requirements/run.txt /src/requirements/
RUN python3 -m venv /opt/proxyctl \
    && /opt/proxyctl/bin/pip install --no-cache-dir --no-compile --require-hashes -r /src/requirements/run.txt
COPY proxyctl /src/proxyctl
COPY templates /src/templates
RUN /opt/proxyctl/bin/pip install --no-cache-dir --no-compile --no-index --no-deps --no-build-isolation /src \
    && /opt/proxyctl/bin/python3 -m compileall -fq --invalidation-mode unchecked-hash /opt/proxyctl/lib

FROM ${BASE}
# Python's images come without bytecode, and the user below may write none: each start would compile.
RUN python3 -m compileall -q --invalidation-mode unchecked-hash \
    "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
COPY --from=build /opt/proxyctl /opt/proxyctl
# Snapshots are kept below the home: mount a volume there to keep them longer than a container.
RUN useradd --uid 10001 --create-home proxyctl
USER 10001
ENV PATH=/opt/proxyctl/bin:$PATH PYTHONDONTWRITEBYTECODE=1
WORKDIR /work
ENTRYPOINT ["/opt/proxyctl/bin/proxyctl"]
