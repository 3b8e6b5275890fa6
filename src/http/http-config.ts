// The parts of the configuration that the HTTP server reads.
import type { Config } from '../schema/config.ts';

export interface HttpConfig extends Pick<Config, 'server' | 'auth' | 'audit' | 'e2b' | 'mcp' | 'console'> {
  images: Pick<Config['images'], 'writes' | 'max_image_bytes' | 'max_entries'>;
}
