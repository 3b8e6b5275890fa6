// `e2b.listen` as the configuration of this machine describes it, for programs here.

export interface TlsHere {
  /** Has the port of the listener behind it, unless that is 443. */
  domain: string;
  port: number;
  /** PEM files; absent where the certificate is one of the operator's, which the system trusts. */
  trust?: { caFile: string; bundleFile: string };
}
