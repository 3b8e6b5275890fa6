// The name of a preview, `<port>-<sandbox-id>.<preview-domain>`. Only this file writes and reads it, so that a request
// is either for a preview or for the API.

/** The name of the token in the query, and of the cookie that it becomes. */
export const PREVIEW_TOKEN = 'svc_preview';

export interface PreviewTarget {
  sandbox_id: string;
  port: number;
}

/**
 * The header by which a program with an API key reaches a port without resolving a name: `<port>-<sandbox-id>`. Pages cannot
 * send it: the server allows it to no origin.
 */
export const PORT_HEADER = 'x-sandbox-port';
/** Names the error code where the service answers such a request instead of the sandbox. Sandboxes cannot set it. */
export const FAILED_HEADER = 'x-sandbox-port-error';

/** A DNS label has at most 63 characters, five of them for the port. */
const LABEL = /^([1-9]\d{0,4})-([a-z0-9](?:[a-z0-9_-]{0,55}[a-z0-9])?)$/;
const HOST = /^([A-Za-z0-9._-]{1,253})(?::\d{1,5})?$/;

export function previewName({ sandbox_id, port }: PreviewTarget, domain: string): string {
  return `${port}-${sandbox_id}.${domain}`;
}

const targetFrom = (label: string): PreviewTarget | undefined => {
  const [, port, sandbox_id] = LABEL.exec(label) ?? [];
  return sandbox_id !== undefined && Number(port) <= 65_535 ? { sandbox_id, port: Number(port) } : undefined;
};

/** Reads a value of PORT_HEADER. Undefined for a malformed one. */
export const readPortHeader = (value: string): PreviewTarget | undefined => targetFrom(value);

/**
 * Reads a Host header. `strange` is a malformed name below the domain that begins like a preview. Undefined is not a
 * preview, also if `domain` is empty.
 */
export function readPreviewName(
  host: string | undefined,
  domain: string,
): PreviewTarget | 'strange' | undefined {
  if (domain === '' || host === undefined) return undefined;
  const name = HOST.exec(host)?.[1]?.toLowerCase().replace(/\.$/, '');
  if (!name?.endsWith(`.${domain}`)) return undefined;
  const label = name.slice(0, -domain.length - 1);
  const target = targetFrom(label);
  if (target) return target;
  return /(?:^|\.)\d+-/.test(label) ? 'strange' : undefined;
}
