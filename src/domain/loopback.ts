// Which listening addresses only this machine can reach.

/** True for `localhost`, 127.0.0.0/8 and ::1. Other names are not: what they stand for can change. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
