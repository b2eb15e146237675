import http from 'node:http';

/**
 * The stub service: `node service.ts <port> <delay in ms>`. Lists are created once, so that it uses almost
 * no CPU. A project `codes-<n>`, or `codes-<n>-<anything>`, has n codes. The response contains the name of
 * the project, so that swapped responses are noticed.
 *
 * `GET /__calls` returns the number of requests; `POST /__calls` resets it to 0.
 *
 * The stub of the tests would take 72 µs of CPU time for a request in place of 44: it also reads headers and bodies, and
 * the load generator may be on the same core.
 */
const [port = '0', delay = '0'] = process.argv.slice(2);
const delayMs = Number(delay);
let calls = 0;

const status = Buffer.from('{"invoice_id":4711,"message":"done","status":0}');
const lists = new Map<number, Buffer>();

const server = http.createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://service');
  if (pathname === '/__calls') {
    if (request.method === 'POST') calls = 0;
    response.end(JSON.stringify({ calls }));
    return;
  }
  calls += 1;
  const body = pathname === '/getGLCodes5' ? codesOf(searchParams.get('project') ?? '') : [status];
  if (delayMs > 0) setTimeout(respond, delayMs, response, body);
  else respond(response, body);
});

// Long enough that connections stay open while other peers are measured. Every response announces it.
server.keepAliveTimeout = 600_000;
server.listen(Number(port), '127.0.0.1');

function respond(response: http.ServerResponse, body: Buffer[]): void {
  const length = body.reduce((sum, { byteLength }) => sum + byteLength, 0);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
  response.end(body.length === 1 ? body[0] : Buffer.concat(body, length));
}

function codesOf(project: string): Buffer[] {
  const count = Number(/^codes-(\d+)/.exec(project)?.[1] ?? 0);
  const record = { invoice_id: 4711, message: project, status: 0 };
  return [
    Buffer.from(`{"service_status":${JSON.stringify(record)},"list":`),
    listOf(count),
    Buffer.from('}'),
  ];
}

function listOf(count: number): Buffer {
  const known = lists.get(count);
  if (known) return known;
  const codes = Array.from({ length: count }, (_, index) => ({
    Code: String(40_000 + index),
    Name: `Travel and accommodation ${index}`,
    Value: `${40_000 + index} - Travel and accommodation`,
    Hide: index % 7 === 0 ? 1 : 0,
  }));
  const list = Buffer.from(JSON.stringify(codes));
  lists.set(count, list);
  return list;
}
