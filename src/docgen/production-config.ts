// svc.yaml for a service that strangers can reach: keys, caps and limits set, every other key at its default. It passes
// `svc config lint --production --strict` as it is; a test holds the two together.
import { type SampleValues, sampleConfig } from './sample-config.ts';

const HEAD = `# Configuration of svc for production. It differs from the defaults in keys, limits, and containers without root.
# Before the first start, review server.cors_allowed_origins, the limits in defaults and providers.container, the image,
# and providers.container.allowed_images.
# Keys are in files beside this one. Check changes with \`svc config lint --production --strict --file FILE\`.
`;

const FLEET_HEAD = `# Configuration of one of several svc servers over PostgreSQL (docs/fleet.md). Workers run the sandboxes.
# Before the first start, write the URL to the file that database.url_file names.
`;

/**
 * What a server over PostgreSQL needs, laid over the defaults or over the values for production: it cannot run local kinds
 * itself. Null leaves a key out.
 */
const FLEET: SampleValues = {
  'database.path': null,
  'database.url': '/etc/svc/database-url',
  'providers.default': 'auto',
  'providers.container.enabled': false,
  'providers.userspace.enabled': false,
  'providers.microvm.enabled': false,
};

/** A server of a fleet, with every other key at its default. */
export const fleetConfig = (): string => sampleConfig(FLEET, FLEET_HEAD);

export interface ProductionChoices {
  /** Over PostgreSQL, as one of several servers. */
  fleet?: boolean;
  /** The origin of the pages that may call, for example https://app.example.com. */
  origin: string;
  /** Files with the keys, as the configuration names them. */
  apiKeyFile: string;
  adminKeyFile: string;
  /** Seals stored secrets; of servers over PostgreSQL. */
  secretsKeyFile?: string;
}

/** The text of the file, ending in a line break. */
export function productionConfig({
  fleet = false,
  origin,
  apiKeyFile,
  adminKeyFile,
  secretsKeyFile,
}: ProductionChoices): string {
  const values = {
    'server.cors_allowed_origins': [origin],
    'server.preview_access': 'signed',
    'auth.enabled': true,
    'auth.api_key': apiKeyFile,
    'auth.admin_api_key': adminKeyFile,
    'auth.admin_fallback_enabled': false,
    'auth.enforce_owner': true,
    'auth.quota_writes': 'admin',
    'rate_limit.enabled': true,
    // An agent that runs one command after another, and a copy of some hundred files.
    'rate_limit.requests_per_minute': 1200,
    'rate_limit.burst': 240,
    'defaults.image': 'alpine:3.22',
    'defaults.max_sandboxes': 50,
    'defaults.max_sandboxes_per_owner': 10,
    'defaults.spawn_overflow': 'queue',
    'defaults.strict': true,
    'database.path': '/var/lib/svc/svc.db',
    'logging.format': 'json',
    'providers.default': 'container',
    'providers.container.read_only_rootfs': true,
    'providers.container.user': '65534:65534',
    'providers.container.added_caps': [],
    'providers.container.allowed_images': ['alpine'],
    'providers.container.max_sandboxes': 50,
    'providers.container.max_memory_mb': 2048,
    'providers.userspace.enabled': false,
    ...(secretsKeyFile !== undefined && { 'secrets.key': secretsKeyFile }),
  };
  return sampleConfig(fleet ? { ...values, ...FLEET } : values, fleet ? FLEET_HEAD : HEAD);
}
