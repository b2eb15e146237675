import http from 'node:http';

/** The limit: a bare proxy that reads nothing and only passes on, over connections that it keeps. */
const base = new URL(process.env.UPSTREAM_BASE_URL ?? '');
const agent = new http.Agent({ keepAlive: true });

http
  .createServer((request, response) => {
    const { method = 'GET', url = '/', headers } = request;
    const call = http.request(
      { host: base.hostname, port: base.port, path: url, method, headers, agent },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    call.on('error', () => response.destroy());
    request.pipe(call);
  })
  .listen(Number(process.env.PORT), process.env.HOST);
