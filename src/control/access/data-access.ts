// Tokens of the data plane: who holds one may use the inside of its sandbox, and nothing else.
import {
  type DataTokenKind,
  dataToken,
  dataTokenKey,
  fileSignature,
  isSameText,
  sandboxOfToken,
} from '../../domain/data-token.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { SandboxState } from '../../schema/sandbox-states.ts';
import type { SandboxStore, Store } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { DataAccess } from '../api/data-access.ts';

/** Sandboxes among which the signer of a link is looked for. */
const MOST_SIGNERS = 1000;
const USABLE: readonly SandboxState[] = ['running', 'unhealthy'];

export interface DataAccessDeps {
  store: Pick<Store, 'instance'>;
  sandboxes: Pick<SandboxStore, 'get' | 'list'>;
}

export function dataAccess({ store, sandboxes }: DataAccessDeps): DataAccess {
  const key = dataTokenKey(store.instance.key);
  const token = (kind: DataTokenKind, id: string) => dataToken(key, kind, id);
  const isSigned: DataAccess['isSigned'] = (id, file, signature) =>
    isSameText(fileSignature(token('access', id), file), signature);
  return {
    tokensOf: (id) => ({ access: token('access', id), traffic: token('traffic', id) }),
    codeToken: (id) => token('code', id),
    sandboxOf: (kind, given) => sandboxOfToken(key, kind, given),
    holderOf,
    isUsable: async (id) => {
      const row = await sandboxes.get(id);
      return row !== undefined && USABLE.includes(row.state);
    },
    isSigned,
    findSigned: async (file, signature) => {
      const rows = await sandboxes.list({ limit: MOST_SIGNERS + 1 });
      const found = rows.find((row) => USABLE.includes(row.state) && isSigned(row.id, file, signature));
      if (found === undefined && rows.length > MOST_SIGNERS) throw tooMany();
      return found?.id;
    },
  };
}

/** The token was checked; the owner who has it shares the account of the sandbox. */
function holderOf(sandbox_id: string, request_id: string): Caller {
  return { role: 'admin', actor: 'system:token', credential: `token ${sandbox_id}`, request_id };
}

function tooMany(): ServiceError {
  return new ServiceError('bad_request', 'Too many sandboxes run to find the one of this link.', {
    remedy: 'Name it in the header E2b-Sandbox-Id, or use links below a domain of the sandbox.',
  });
}
