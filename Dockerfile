# The pet store as a container: nginx with the module, and petstorectl. Redis runs
# elsewhere. docs/containers.md describes the environment; compose.yaml and
# docs/examples/kubernetes.yaml are examples.
#
#     docker build -t petstore .
#     docker run -p 8080:8080 -e PETSTORE_REDIS=redis://redis.internal:6379/0 petstore
#     docker run --rm -e PETSTORE_REDIS=… petstore petstorectl key create --label me
#
# It needs no privileges and no writable file system: --read-only --tmpfs /tmp
# --cap-drop ALL.

# For a smaller image: --build-arg BASE=debian:trixie-slim; for a pinned one, as
# releases have: BASE=debian:trixie@sha256:DIGEST. Without the
# documentation page, which needs the npm registry: --build-arg DOCS=no. To append the
# commit to the version: --build-arg PETSTORE_COMMIT=$(git rev-parse --short=12 HEAD).
ARG BASE=debian:trixie
FROM $BASE AS build
WORKDIR /petstore
# Packages first, so that a change of the sources reuses this layer.
COPY scripts/lib.sh scripts/apt-install scripts/
RUN bash -c 'source scripts/lib.sh && need_packages "${BUILD_PACKAGES[@]}"'
COPY config config.make CMakeLists.txt ngx_http_petstore_module.cpp ./
COPY scripts/build scripts/embed scripts/embed-commit scripts/
COPY src src
ARG PETSTORE_COMMIT=
RUN scripts/build --strip

# The documentation page. Without the npm registry, the image is built without it.
FROM $BASE AS docs
ARG DOCS=yes
WORKDIR /petstore
COPY scripts/lib.sh scripts/apt-install scripts/
RUN if [ "$DOCS" != no ]; then \
        bash -c 'source scripts/lib.sh && need_packages ca-certificates nodejs npm'; \
    fi
COPY scripts/npm-install scripts/docs scripts/
COPY docs-page docs-page
RUN mkdir -p build/docs \
    && if [ "$DOCS" != no ]; then \
        scripts/docs || echo 'WARNING: no documentation page in this image, see above'; \
    fi

FROM $BASE
# The upgrade brings security updates that are newer than the base.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get upgrade -y \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        ca-certificates libhiredis1.1.0 libstdc++6 nginx \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old \
        /var/log/* \
    # Configurations that log to nginx's usual files, such as
    # nginx-conf/balancer.conf, log to the container's output.
    && mkdir -p /var/log/nginx /etc/petstore/conf.d /etc/petstore/locations.d \
    && ln -s /dev/stdout /var/log/nginx/access.log \
    && ln -s /dev/stderr /var/log/nginx/error.log
COPY --from=build /petstore/build/stripped/ngx_http_petstore_module.so /usr/lib/nginx/modules/
COPY --from=build /petstore/build/stripped/petstorectl /usr/bin/
COPY --from=docs /petstore/build/docs /usr/share/petstore/docs
COPY nginx-conf/container.conf /etc/petstore/nginx.conf
COPY scripts/container-entrypoint scripts/container-health /usr/bin/
# Copied files have the modes of the checkout, which a umask may have made private.
# Then fail the build, not the first start.
RUN chmod 755 /usr/bin/container-entrypoint /usr/bin/container-health \
    && chmod 644 /etc/petstore/nginx.conf \
    && ldd /usr/bin/petstorectl && petstorectl --help >/dev/null \
    && mkdir -m 1777 -p /tmp/petstore \
    && nginx -t -c /etc/petstore/nginx.conf \
    && rm -rf /tmp/petstore
# Any other user works, too: none has a name or owns a file.
USER 10001:10001
ENV PETSTORE_REDIS=redis://redis:6379/0
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["container-health"]
# The entrypoint handles SIGTERM in the same way: nginx finishes running requests.
STOPSIGNAL SIGQUIT
ENTRYPOINT ["container-entrypoint"]
