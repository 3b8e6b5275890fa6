// Which listening addresses only this machine can reach.
import type { Config } from '../schema/config.ts';

/** True for `localhost`, 127.0.0.0/8 and ::1. Other names are not: what they stand for can change. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/**
 * True if workers may have loopback addresses. When authentication is off, only this machine can call the server, so its
 * workers are local and could use loopback anyway. With keys, a proxy may let others in, so only the setting decides.
 */
export function allowsLoopbackRpc(config: Pick<Config, 'auth' | 'server' | 'worker'>): boolean {
  return config.worker.allow_loopback_rpc || servesThisMachine(config);
}

/** True if authentication is off and only programs of this machine can call the server. */
export function servesThisMachine({ auth, server }: Pick<Config, 'auth' | 'server'>): boolean {
  return !auth.enabled && isLoopbackHost(server.host) && server.trusted_proxies.length === 0;
}
