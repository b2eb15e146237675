/** The share of a request that was sent, from 0 to 1. */
export type OnUploadProgress = (share: number) => void;

declare global {
  interface RequestInit {
    onUploadProgress?: OnUploadProgress;
  }
}

/**
 * `fetch`, which cannot report the progress of an upload: a request that asks for it uses XMLHttpRequest. The questions of the
 * client package about a write have the options of the write, and no progress.
 */
export const fetchWithProgress: typeof fetch = (input, init) =>
  init?.onUploadProgress && !(input instanceof Request) && !`${init.body}`.includes('settleWrites')
    ? upload(input, init, init.onUploadProgress)
    : fetch(input, init);

function upload(
  url: string | URL,
  { method = 'POST', headers, body, signal }: RequestInit,
  onProgress: OnUploadProgress,
): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const request = new XMLHttpRequest();
  request.open(method, url);
  for (const [name, value] of new Headers(headers)) request.setRequestHeader(name, value);
  request.upload.onprogress = ({ loaded, total }) => onProgress(loaded / total);
  request.onload = () => {
    const { status, responseText } = request;
    resolve(new Response(responseText, { status, headers: readHeaders(request) }));
  };
  // The same error as that of `fetch`.
  request.onerror = () => reject(new TypeError('Failed to fetch'));
  request.onabort = () => reject(signal?.reason);
  signal?.addEventListener('abort', () => request.abort());
  request.send(typeof body === 'string' ? body : null);
  return promise;
}

function readHeaders(request: XMLHttpRequest): Headers {
  const headers = new Headers();
  for (const line of request.getAllResponseHeaders().split('\r\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 2));
  }
  return headers;
}
