// The listener with TLS for programs for E2B.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { parseListen } from '../../../domain/listen-address.ts';
import type { Config } from '../../../schema/config.ts';
import { type CheckGroup, type Finding, fail, pass, warn } from '../check.ts';
import { portFinding } from '../port-finding.ts';

const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

export const E2B: CheckGroup = {
  id: 'e2b',
  title: 'Programs for E2B',
  unless: ({ e2b }) => (e2b.listen === '' ? 'e2b.listen is not set.' : undefined),
  checks: [
    {
      name: 'port',
      title: 'Port with TLS',
      look: async (context) => {
        const { listen } = context.config.e2b;
        return portFinding(context, {
          ...parseListen(listen),
          held: () => `The service runs, and ${listen} is in use.`,
          settings: { port: 'e2b.listen', host: 'e2b.listen' },
        });
      },
    },
    {
      name: 'certificate',
      title: 'Certificate',
      look: async ({ config, clock }) =>
        config.e2b.cert_file === ''
          ? pass('The server makes a certificate of its own authority: see svc e2b env --tls.')
          : certificateOf(config, clock.now()),
    },
  ],
};

async function certificateOf({ e2b, server }: Config, now: number): Promise<Finding> {
  const remedy = 'Set e2b.cert_file and e2b.key_file to PEM files that belong together.';
  try {
    const certificate = new X509Certificate(await readFile(e2b.cert_file));
    if (!certificate.checkPrivateKey(createPrivateKey(await readFile(e2b.key_file))))
      return fail('The key in e2b.key_file is not that of the certificate.', remedy);
    const name = `49983-sb-aaaaaaaaaaaa.${server.preview_domain}`;
    if (certificate.checkHost(name) === undefined)
      return fail(
        `The certificate is not for names below ${server.preview_domain}.`,
        `Use one for *.${server.preview_domain}.`,
      );
    return lifeOf(certificate, now);
  } catch {
    return fail('The certificate of e2b.listen or its key cannot be read.', remedy);
  }
}

function lifeOf({ validTo }: X509Certificate, now: number): Finding {
  const days = Math.floor((Date.parse(validTo) - now) / DAY_MS);
  if (days < 0) return fail(`The certificate of e2b.listen ended on ${validTo}.`, 'Renew it.');
  if (days < SOON_DAYS) return warn(`The certificate of e2b.listen ends on ${validTo}.`, 'Renew it.');
  return pass(`The certificate is good until ${validTo}.`);
}
