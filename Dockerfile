FROM node:24-slim

ENV NODE_ENV=production \
    MIRROR_DATA_DIR=/data
WORKDIR /app

COPY package.json package-lock.json .npmrc ./
# The image brings its own Node, so the one that npm installs for other machines goes.
RUN npm ci --omit=dev && rm -rf node_modules/node-linux-* node_modules/.bin/node && npm cache clean --force

COPY LICENSE README.md ./
COPY config/default.yaml config/default.yaml
COPY src src

RUN mkdir /data && chown node:node /data && chmod 700 /data
USER node
VOLUME /data

# Healthy means: the mirror is there and answers.
HEALTHCHECK --interval=1m --timeout=10s --start-period=5m \
  CMD ["node", "src/main.ts", "status", "--json", "--log-level", "silent"]

ENTRYPOINT ["node", "src/main.ts"]
CMD ["sync"]
