FROM node:24-slim

ENV NODE_ENV=production \
    MIRROR_DATA_DIR=/data
WORKDIR /app

COPY package.json package-lock.json .npmrc ./
COPY config/node config/node
# The image brings its own Node, so the one that npm installs for other machines goes.
RUN npm ci --omit=dev && rm -rf node_modules/node-linux-* node_modules/node-win-* node_modules/.bin/node && npm cache clean --force

COPY LICENSE README.md ./
COPY config/default.yaml config/default.yaml
COPY src src

RUN mkdir /data && chown node:node /data && chmod 700 /data
# The user `node`, as a number: Kubernetes can then check that it is not root.
USER 1000:1000
VOLUME /data

# Alive, and no more: whether the mirror is fresh is what /readyz and the alerts say. For another status.port, say so here.
HEALTHCHECK --interval=30s --timeout=10s --start-period=1m \
  CMD ["node", "--eval", "fetch('http://127.0.0.1:8790/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "src/main.ts"]
CMD ["run"]
