// Every rule of `svc config lint`, in the order of their ids.
import type { LintRule } from './rule.ts';
import { AUTH_RULES } from './rules/auth.ts';
import { BACKEND_RULES } from './rules/backends.ts';
import { CONTAINER_RULES } from './rules/container.ts';
import { DATABASE_RULES } from './rules/database.ts';
import { EGRESS_RULES } from './rules/egress.ts';
import { FILE_RULES } from './rules/file.ts';
import { IMAGE_RULES } from './rules/images.ts';
import { LIMIT_RULES } from './rules/limits.ts';
import { MICROVM_RULES } from './rules/microvm.ts';
import { RATE_LIMIT_RULES } from './rules/rate-limit.ts';
import { SERVER_RULES } from './rules/server.ts';
import { USERSPACE_RULES } from './rules/userspace.ts';

export const LINT_RULES: readonly LintRule[] = [
  ...FILE_RULES,
  ...AUTH_RULES,
  ...SERVER_RULES,
  ...RATE_LIMIT_RULES,
  ...DATABASE_RULES,
  ...LIMIT_RULES,
  ...CONTAINER_RULES,
  ...USERSPACE_RULES,
  ...IMAGE_RULES,
  ...EGRESS_RULES,
  ...BACKEND_RULES,
  ...MICROVM_RULES,
];
