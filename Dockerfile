# The package, as `npm pack` makes it, with the exact dependencies of the lock file.
# For a build that is always the same, name the digest: --build-arg NODE=node:24-slim@sha256:…
ARG NODE=node:24-slim
FROM ${NODE} AS build
WORKDIR /build
COPY . .
RUN npm ci --ignore-scripts \
  && mkdir /app \
  && npm pack --pack-destination / \
  && tar --extract --gzip --strip-components=1 --directory /app --file /analytics-mirror-*.tgz \
  && cp -r package-lock.json .npmrc /app \
  && cp -r config/node /app/config \
  && npm ci --ignore-scripts --omit=dev --prefix /app \
  # The image brings its own Node, so the one that npm installs for other machines goes.
  && rm -rf /app/node_modules/node-linux-* /app/node_modules/node-win-* /app/node_modules/.bin/node

FROM ${NODE}
ENV NODE_ENV=production \
    MIRROR_DATA_DIR=/data
COPY --from=build /app /app
RUN ln -s /app/dist/main.js /usr/local/bin/analytics-mirror \
  && mkdir /data && chown node:node /data && chmod 700 /data
WORKDIR /app
# The user `node`, as a number: Kubernetes can then check that it is not root.
USER 1000:1000
VOLUME /data

# The check shows that the process is alive. /readyz and the alerts show whether the mirror is fresh. For another
# status.port, change the address here.
HEALTHCHECK --interval=30s --timeout=10s --start-period=1m \
  CMD ["node", "--eval", "fetch('http://127.0.0.1:8790/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

STOPSIGNAL SIGTERM
ENTRYPOINT ["analytics-mirror"]
CMD ["run"]
