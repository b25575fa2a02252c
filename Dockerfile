# engrams with its server, MCP and files: `docker build -t engrams .`; compose.yaml runs it. scripts/container.py checks this file.
FROM python:3.13 AS build
WORKDIR /src
# fleet: with the driver of Postgres
ARG PACKAGES=run
COPY requirements/run.txt requirements/fleet.txt requirements/
RUN python -m venv /opt/engrams && /opt/engrams/bin/pip install --no-cache-dir --no-compile --require-hashes -r "requirements/${PACKAGES}.txt"
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY packaging packaging
COPY src src
RUN /opt/engrams/bin/pip install --no-cache-dir --no-compile --no-deps --no-build-isolation .
RUN /opt/engrams/bin/pip uninstall --yes hatchling editables pathspec pluggy trove-classifiers pip \
    && find /opt/engrams/lib -type d -name tests -prune -exec rm -r {} + \
    && find /opt/engrams/lib -type f -regex '.*\.\(pyi\|pyx\|pxd\|c\|h\|a\)' -delete \
    && find /opt/engrams/lib -path '*/uvloop/*.so' -exec strip --strip-unneeded {} +

FROM python:3.13-slim
COPY --from=build /opt/engrams /opt/engrams
RUN useradd --uid 10001 --no-create-home --home-dir /data engrams && install --directory --owner engrams --mode 700 /data
ENV PATH=/opt/engrams/bin:$PATH ENGRAMS_HOME=/data ENGRAMS_USER=me PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8100
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8100/ready', timeout=4)"]
ENTRYPOINT ["engrams"]
CMD ["serve", "--host", "0.0.0.0"]
