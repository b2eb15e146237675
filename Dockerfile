# The gateway, run from its TypeScript sources as everywhere else (docs/decisions/0002). Pin the digest of the
# base image in your build: docs/how-to/deploy.md.
ARG BASE=node:24-bookworm-slim
# What installs the packages: it needs npm and a shell, which a smaller BASE may lack.
ARG BUILD_BASE=${BASE}

FROM ${BUILD_BASE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/at-most-once packages/at-most-once
# The secret is optional: an .npmrc for a private registry.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc npm ci --omit=dev --no-fund

FROM ${BASE} AS gateway
# The id of the commit, for the metric ledger_gateway_build_info: docker build --build-arg GIT_COMMIT=…
ARG GIT_COMMIT=unknown
LABEL org.opencontainers.image.title=ledger-gateway \
  org.opencontainers.image.description="A GraphQL gateway that sends every write at most once" \
  org.opencontainers.image.licenses=MIT \
  org.opencontainers.image.version=1.0.0 \
  org.opencontainers.image.revision=${GIT_COMMIT}
# glibc gives large blocks back as soon as they are free. Otherwise, a process that has received 200 MB keeps them.
ENV NODE_ENV=production GIT_COMMIT=${GIT_COMMIT} MALLOC_MMAP_THRESHOLD_=131072
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json schema.graphql LICENSE ./
COPY examples/operations examples/operations
COPY src src
# node_modules has a link to it.
COPY packages/at-most-once packages/at-most-once
# The user `node` of the base image. Kubernetes can check that a number is not root, but not a name.
USER 1000:1000
EXPOSE 4000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 4000) + '/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Without a shell or npm in between, so that node is process 1 and receives SIGTERM.
ENTRYPOINT ["node", "src/main.ts"]

# The build of the example web app, for the demo only.
FROM ${BUILD_BASE} AS web
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json ./
COPY packages/at-most-once packages/at-most-once
COPY packages/client packages/client
COPY examples/web examples/web
# The app marks what a search found by the rules of the gateway.
COPY src/lib/fold-text.ts src/lib/
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
  npm ci --workspaces --workspace packages/client --workspace examples/web --ignore-scripts --no-fund \
  && node_modules/.bin/tsc --project packages/client \
  && npm run web build

# For a first look, not for production: gateway, reference service, token issuer and example web app in one process.
# docker build --target demo -t ledger-gateway-demo . (docs/how-to/deploy.md#demo)
FROM gateway AS demo
COPY dev dev
COPY packages/client/src packages/client/src
COPY --from=web /app/examples/web/dist web
ENV HOST=0.0.0.0 DEV_WEB_BUILD=/app/web EXPLORER=graphiql
EXPOSE 4010 5173
ENTRYPOINT ["node", "dev/start.ts", "--web"]

# What is built without --target.
FROM gateway
