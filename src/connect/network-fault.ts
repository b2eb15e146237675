/** How long one check may take, in milliseconds. */
export const CHECK_MS = 5000;

const unknownCa = /^(UNABLE_TO_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|CERT_SIGNATURE_FAILURE)/;

/** What an error of a connection means, and what to do, by its code. The texts begin after the address. */
const meanings: readonly [codes: RegExp, meaning: string][] = [
  [
    /^(ENOTFOUND|EAI_AGAIN)$/,
    'its name does not resolve from here. Write a name that the DNS of this machine knows, or an IP address',
  ],
  [/^ECONNREFUSED$/, 'nothing listens there. Write the port at which the server listens'],
  [/^ENOENT$/, 'there is no such socket. Write the directory and the port of the server'],
  [
    /^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|TimeoutError|timeout|UND_ERR_CONNECT_TIMEOUT)$/,
    'it does not respond. Check the address, and whether a firewall or a network policy drops the connection',
  ],
  [
    /^(CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)$/,
    'its certificate is not valid now. Compare the clock of this machine, or renew the certificate',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'its certificate has another name. Write a name of the certificate',
  ],
  [
    unknownCa,
    'its certificate is not from a known CA. Name a file with the CA that issued it in NODE_EXTRA_CA_CERTS',
  ],
];

/** The same for HTTP. */
const meaningsOfHttp: typeof meanings = [
  ...meanings,
  [
    /^(HPE_\w+|ECONNRESET|UND_ERR_SOCKET)$/,
    'the server closes the connection, or does not speak HTTP. Write https:// if the port has TLS',
  ],
  [
    /^(EPROTO|ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG))$/,
    'the port has no TLS. Write http://, or the port that has TLS',
  ],
];

/** Whether an error says that a certificate is not of a known CA. */
export const isUnknownCa = (code: string) => unknownCa.test(code);

/** What an error means, and what to write instead, to be read after its code. Undefined if only the code is known. */
export function meaningOf(code: string, of: 'connection' | 'HTTP' = 'HTTP'): string | undefined {
  const known = of === 'HTTP' ? meaningsOfHttp : meanings;
  return known.find(([codes]) => codes.test(code))?.[1];
}

/** The code of an error, or its name. That of a timeout is a number, which says less. */
export function codeOf(error: unknown): string {
  const { code, name }: { code?: unknown; name?: unknown } = Object(error);
  return String(typeof code === 'string' ? code : name);
}
