# The pet store as a container: nginx with the module and petstorectl. Redis is
# elsewhere, by address:
#
#     docker build -t petstore .
#     docker run -p 8080:8080 -e PETSTORE_REDIS=redis://redis.internal:6379/0 petstore
#     docker run --rm -e PETSTORE_REDIS=… petstore petstorectl key create --label me
#
# It needs no rights and no writable file system: --read-only --tmpfs /tmp will do.

FROM debian:trixie AS build
WORKDIR /petstore
# The packages first: they are the same for every change of the sources.
COPY scripts/lib.sh scripts/apt-install scripts/
RUN bash -c 'source scripts/lib.sh && need_packages "${BUILD_PACKAGES[@]}"'
COPY config config.make CMakeLists.txt ngx_http_petstore_module.cpp ./
COPY scripts/build scripts/embed-lua scripts/
COPY src src
RUN scripts/build --strip

FROM debian:trixie
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        ca-certificates libhiredis1.1.0 libstdc++6 nginx \
    && rm -rf /var/lib/apt/lists/* /var/log/nginx/*
COPY --from=build /petstore/build/stripped/ngx_http_petstore_module.so /usr/lib/nginx/modules/
COPY --from=build /petstore/build/stripped/petstorectl /usr/bin/
COPY nginx-conf/container.conf /etc/petstore/nginx.conf
COPY scripts/container-entrypoint /usr/bin/
# Told now rather than at the first start.
RUN ldd /usr/bin/petstorectl && petstorectl --help >/dev/null \
    && mkdir -m 1777 -p /tmp/petstore \
    && nginx -t -c /etc/petstore/nginx.conf \
    && rm -rf /tmp/petstore
# Any other will do, too: none has a name or owns a file.
USER 10001:10001
ENV PETSTORE_REDIS=redis://redis:6379/0
EXPOSE 8080
# The entrypoint takes SIGTERM for the same: requests that run are finished.
STOPSIGNAL SIGQUIT
ENTRYPOINT ["container-entrypoint"]
