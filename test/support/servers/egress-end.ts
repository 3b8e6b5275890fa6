// The end of a server with a network around it in which every address answers.
import type { EgressNetwork } from '../hosts/egress-network.ts';
import { removeHome, type TestServer } from './server.ts';

/** Leaves nothing of either, also if their start failed. Resolves with the exit code of the server. */
export async function endInNetwork(
  server: TestServer | undefined,
  net: EgressNetwork | undefined,
): Promise<number | null | undefined> {
  try {
    return await server?.stop();
  } finally {
    if (server) removeHome(server.home);
    net?.remove();
  }
}
