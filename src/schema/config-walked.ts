// What walking the schema of the configuration yields. The build replaces this module by its value, so that commands which
// only read a file do not load the schema and the library it is written in (scripts/config-data.js).
import { Config } from './config.ts';
import { walkSchema } from './config-walk.ts';

export default walkSchema(Config);
