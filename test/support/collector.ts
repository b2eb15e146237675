import type { IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { startHttpServer } from '../../testkit/http-server.ts';

export type Span = {
  traceId: string;
  spanId: string;
  /** Empty for a root span. */
  parentSpanId: string;
  name: string;
  /** As in the protocol: 1 internal, 2 server, 3 client. */
  kind: number;
  attributes: Record<string, string | number>;
  isError: boolean;
};

/** Starts a collector of traces (OTLP over HTTP, protobuf). */
export async function startCollector() {
  const bodies: Buffer[] = [];
  const paths: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const { origin } = await startHttpServer(async (request, response) => {
    const body = await buffer(request);
    paths.push(request.url ?? '');
    headers.push(request.headers);
    bodies.push(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body);
    response.setHeader('content-type', 'application/x-protobuf').end();
  });
  return {
    url: origin,
    paths,
    headers,
    /** Every byte that was exported. */
    bytes: () => Buffer.concat(bodies),
    spans: () => bodies.flatMap(readSpans),
    /** The attributes of the resource of the first export. */
    resource: () => attributesOf(all(all(bodies[0], 1)[0], 1)[0], 1),
  };
}

/** A field of a protobuf message: a number, or the bytes of a string or of another message. */
type Field = { number: number; value: number | bigint | Buffer };

/** Reads the wire types of protobuf that traces use. */
function fieldsOf(message: Buffer = Buffer.of()): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (bytes: number) => {
    at += bytes;
    return message.subarray(at - bytes, at);
  };
  while (at < message.length) {
    const tag = Number(varint());
    const number = tag >> 3;
    const type = tag & 7;
    if (type === 0) fields.push({ number, value: Number(varint()) });
    else if (type === 1) fields.push({ number, value: take(8).readBigUInt64LE() });
    else if (type === 2) fields.push({ number, value: take(Number(varint())) });
    else if (type === 5) fields.push({ number, value: take(4).readUInt32LE() });
    else throw new Error(`unknown wire type: ${type}`);
  }
  return fields;
}

/** The messages, strings or byte arrays of one field. */
function all(message: Buffer | undefined, number: number): Buffer[] {
  return fieldsOf(message).flatMap((field) =>
    field.number === number && Buffer.isBuffer(field.value) ? [field.value] : [],
  );
}

const text = (message: Buffer, number: number) => all(message, number)[0]?.toString('utf8') ?? '';
const hex = (message: Buffer, number: number) => all(message, number)[0]?.toString('hex') ?? '';

// The numbers are those of opentelemetry/proto/trace/v1/trace.proto.
function readSpans(request: Buffer): Span[] {
  return all(request, 1)
    .flatMap((resourceSpans) => all(resourceSpans, 2))
    .flatMap((scopeSpans) => all(scopeSpans, 2))
    .map((span) => ({
      traceId: hex(span, 1),
      spanId: hex(span, 2),
      parentSpanId: hex(span, 4),
      name: text(span, 5),
      kind: Number(fieldsOf(span).find(({ number }) => number === 6)?.value ?? 0),
      attributes: attributesOf(span, 9),
      // A status of 2.
      isError: fieldsOf(all(span, 15)[0]).some(({ number, value }) => number === 3 && value === 2),
    }));
}

/** The attributes in a field of a message. */
function attributesOf(message: Buffer | undefined, number: number): Span['attributes'] {
  return Object.fromEntries(
    all(message, number).map((pair) => [text(pair, 1), readValue(all(pair, 2)[0])]),
  );
}

function readValue(any: Buffer | undefined): string | number {
  const [field] = fieldsOf(any);
  if (field === undefined) return '';
  return Buffer.isBuffer(field.value) ? field.value.toString('utf8') : Number(field.value);
}
