// Maps TLS error codes of Node and OpenSSL to advice about the configuration.

interface Advice {
  message: string;
  remedy: string;
}

const ADVICE: readonly [pattern: RegExp, message: string, remedy: string][] = [
  [
    /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_UNTRUSTED|CERT_REJECTED|INVALID_CA)/,
    'The certificate of the container engine is not trusted.',
    'Set providers.container.tls.ca_file to the authority that signed it.',
  ],
  [
    /^CERT_(HAS_EXPIRED|NOT_YET_VALID)/,
    'The certificate of the container engine is not valid today.',
    'Renew it, or correct the clocks of both hosts.',
  ],
  [
    /ALTNAME_INVALID/,
    'The certificate of the container engine is for another name.',
    'Set providers.container.host to a name in the certificate.',
  ],
  [
    // Engines report a missing, an untrusted and an expired certificate in the same way.
    /_ALERT_/,
    'The container engine requires a client certificate that it trusts.',
    'Set providers.container.tls.cert_file and key_file to such a certificate and its key.',
  ],
  [
    /^EPROTO|^ERR_SSL_(WRONG_VERSION|HTTP_REQUEST|PACKET_LENGTH)/,
    'The container engine does not use TLS on this port.',
    'Check the port in providers.container.host, or leave out providers.container.tls.',
  ],
  [
    /^ERR_OSSL_/,
    'The files of providers.container.tls are not usable.',
    'Use PEM files, and the key of cert_file as key_file.',
  ],
];

/** Undefined for a failure that is not about TLS. */
export function tlsAdvice(cause: unknown): Advice | undefined {
  const { code } = (cause ?? {}) as { code?: unknown };
  const [, message, remedy] = ADVICE.find(([pattern]) => pattern.test(`${code}`)) ?? [];
  return message === undefined || remedy === undefined ? undefined : { message, remedy };
}
