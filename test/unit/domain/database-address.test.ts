// URLs of databases: several hosts, few options, and no secrets in errors.
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../../src/domain/database-address.ts';

describe('the URL of a database', () => {
  it('names hosts in order, with ports, and decodes user, password and database', () => {
    const address = parseAddress(
      'postgres://u%40x:p%3A%40%2F%25@db1,[::1]:6000,10.0.0.1:5433/d%20b?sslmode=require',
    );
    expect(address).toMatchObject({
      user: 'u@x',
      database: 'd b',
      tls: 'require',
      hosts: [
        { host: 'db1', port: 5432 },
        { host: '::1', port: 6000 },
        { host: '10.0.0.1', port: 5433 },
      ],
    });
    expect(address.password()).toBe('p:@/%');
  });

  it('verifies the server unless the URL says otherwise', () => {
    expect(parseAddress('postgresql://u@h/d')).toMatchObject({ tls: 'verify-full' });
    expect(parseAddress('postgresql://u@h/d?sslmode=verify-full&sslrootcert=/ca.pem')).toMatchObject({
      authorityFile: '/ca.pem',
    });
  });

  it.each([
    'mysql://u:cuckoo@h/d',
    'postgres://u:cuckoo@h',
    'postgres://:cuckoo@h/d',
    'postgres://u:cuckoo@h:0/d',
    'postgres://u:cuckoo@h:70000/d',
    'postgres://u:cuckoo@h,,i/d',
    'postgres://u:cuckoo@h/d?sslmode=prefer',
    'postgres://u:cuckoo@h/d?sslmode=',
    'postgres://u:cuckoo@h/d?options=-c%20x',
    'postgres://u:cuckoo@h/d?password=cuckoo',
    'postgres://u:cuckoo%ZZ@h/d',
    'postgres://u:cuckoo@h/d#x',
    'postgres://u%00database%00x:cuckoo@h/d',
    'postgres://u:cuckoo%00@h/d',
    'postgres://u:cuckoo@h/d%00',
    `postgres://u:cuckoo@${Array.from({ length: 17 }, (_, n) => `h${n}`)}/d`,
  ])('refuses %s without quoting it', (url) => {
    let failure: unknown;
    try {
      parseAddress(url);
    } catch (error) {
      failure = error;
    }
    expect(failure).toMatchObject({ name: 'ServiceError', code: 'bad_request', remedy: expect.any(String) });
    expect(inspect(failure, { depth: 9 }).replaceAll(url, '')).not.toContain('cuckoo');
  });

  it('shows its password to nobody who prints it', () => {
    const address = parseAddress('postgres://u:cuckoo@h/d');
    expect(inspect(address, { depth: 9 }) + JSON.stringify(address)).not.toContain('cuckoo');
  });
});
