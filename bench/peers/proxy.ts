import http from 'node:http';

/** The lower bound: a bare proxy that forwards requests and responses unread, over kept connections. */
const baseUrl = new URL(process.env.UPSTREAM_BASE_URL ?? '');
const agent = new http.Agent({ keepAlive: true });

http
  .createServer((request, response) => {
    const { method = 'GET', url = '/', headers } = request;
    const upstreamRequest = http.request(
      { host: baseUrl.hostname, port: baseUrl.port, path: url, method, headers, agent },
      (upstreamResponse) => {
        response.writeHead(upstreamResponse.statusCode ?? 502, upstreamResponse.headers);
        upstreamResponse.pipe(response);
      },
    );
    upstreamRequest.on('error', () => response.destroy());
    request.pipe(upstreamRequest);
  })
  .listen(Number(process.env.PORT), process.env.HOST);
