# The gateway, run from its TypeScript sources as everywhere else (docs/decisions/0002). Pin the digest of the
# base image in your build: docs/deployment.md.
ARG BASE=node:24-bookworm-slim

FROM ${BASE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The secret is optional: an .npmrc for a private registry.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc npm ci --omit=dev --no-fund

FROM ${BASE}
# The id of the commit, for the metric ledger_gateway_build_info: docker build --build-arg GIT_COMMIT=…
ARG GIT_COMMIT=unknown
ENV NODE_ENV=production GIT_COMMIT=${GIT_COMMIT}
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json schema.graphql ./
COPY examples/operations examples/operations
COPY src src
# The user `node` of the base image. Kubernetes can check that a number is not root, but not a name.
USER 1000:1000
EXPOSE 4000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 4000) + '/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Without a shell or npm in between, so that node is process 1 and receives SIGTERM.
ENTRYPOINT ["node", "src/main.ts"]
