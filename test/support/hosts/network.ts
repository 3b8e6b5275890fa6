// Hosts that differ by their network alone: each is a network namespace with a cable to a switch, which is a bridge in a namespace
// of its own, where rules that other programs have made for this host's bridges do not apply. This host is the gateway.
import { execFileSync } from 'node:child_process';

export interface NetworkHost {
  readonly name: string;
  readonly address: string;
  /** Begins the arguments of `nsenter`, which replaces itself, so that a signal reaches the program. */
  readonly inside: readonly string[];
  /** Pulls the cable, or plugs it in. */
  cable(isPlugged: boolean): void;
  /** Drops all that goes between the host and an address, until undone with `false`. */
  cut(address: string, isCut: boolean): void;
  /** Its processes. */
  pids(): number[];
}

export interface Network {
  /** The address of this host. */
  readonly gateway: string;
  /** Names have at most 15 characters, as those of links. */
  host(name: string): NetworkHost;
  /** What runs on its hosts has ended before. */
  remove(): void;
}

const ip = (...args: string[]) =>
  execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** Names are made from the pid, so that two runs do not meet. Needs root. */
export function network(): Network {
  const mark = (process.pid % 0xffff).toString(16);
  const [middle, own] = [`svcs${mark}`, `svcg${mark}`];
  const net = `10.${200 + (process.pid % 50)}.${(process.pid >> 6) % 250}`;
  const namespaces: string[] = [];
  const plug = (cable: string, ...end: string[]) =>
    ip('-n', middle, 'link', 'add', cable, 'master', 'switch', 'type', 'veth', 'peer', ...end);
  ip('netns', 'add', middle);
  ip('-n', middle, 'link', 'add', 'switch', 'type', 'bridge');
  ip('-n', middle, 'link', 'set', 'switch', 'up');
  plug('gateway', 'name', own, 'netns', String(process.pid));
  ip('-n', middle, 'link', 'set', 'gateway', 'up');
  ip('addr', 'add', `${net}.1/24`, 'dev', own);
  ip('link', 'set', own, 'up');
  return {
    gateway: `${net}.1`,
    host: (name) => {
      const namespace = `svcn${mark}${name}`;
      const address = `${net}.${namespaces.length + 2}`;
      ip('netns', 'add', namespace);
      namespaces.push(namespace);
      plug(name, 'name', 'eth0', 'netns', namespace);
      ip('-n', middle, 'link', 'set', name, 'up');
      ip('-n', namespace, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
      for (const link of ['eth0', 'lo']) ip('-n', namespace, 'link', 'set', link, 'up');
      const inside = [`--net=/run/netns/${namespace}`];
      return {
        ...{ name, address, inside },
        cable: (isPlugged) => void ip('-n', middle, 'link', 'set', name, isPlugged ? 'up' : 'down'),
        cut: (other, isCut) => {
          for (const [chain, end] of Object.entries({ INPUT: '-s', OUTPUT: '-d' })) {
            const rule = [isCut ? '-A' : '-D', chain, end, other, '-j', 'DROP'];
            execFileSync('nsenter', [...inside, 'iptables', '-w', ...rule], { stdio: 'pipe' });
          }
        },
        pids: () => ip('netns', 'pids', namespace).split('\n').filter(Boolean).map(Number),
      };
    },
    remove: () => {
      // The kernel removes what a namespace has some time after the namespace; another network may need this name at once.
      ip('link', 'del', own);
      for (const namespace of [...namespaces, middle]) ip('netns', 'del', namespace);
    },
  };
}
