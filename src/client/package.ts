// The exports of `svc/client`. Only names in this file are public. `scoped-package.ts` has those of `@svc-sandbox/client`.
export { ServiceError } from '../domain/errors.ts';
export type { AdmissionDecision } from '../schema/admission.ts';
export type { AuditQuery, AuditRecord } from '../schema/audit.ts';
export type { CodeContext, CodeError, CodeLine, CodeOutput, CodeResult } from '../schema/code.ts';
export type { Diagnostics, MetricsBody } from '../schema/diagnostics.ts';
export type { ErrorCode } from '../schema/error.ts';
export type { Event, EventQuery, EventType } from '../schema/event.ts';
export type { ExecItem, ExecOutputQuery, ExecRequest, ExecResult } from '../schema/exec.ts';
export type { FileInfo, FileWritten } from '../schema/file.ts';
export type { PoolStatus } from '../schema/pool.ts';
export type { PreviewLink } from '../schema/preview.ts';
export type { ProviderDetail, ProviderItem, ProviderTests } from '../schema/provider.ts';
export type { Quota, QuotaListQuery, QuotaRequest, QuotaSummary, QuotaUsage } from '../schema/quota.ts';
export type { PruneResult, Sandbox, SpawnRequest } from '../schema/sandbox.ts';
export type { Snapshot } from '../schema/snapshot.ts';
export type { Health, Live, Ready } from '../schema/system.ts';
export type {
  Template,
  TemplateCreate,
  TemplateListQuery,
  TemplateSpawn,
  TemplateUpdate,
} from '../schema/template.ts';
export type { CallTerms, ExecTerms } from './call.ts';
export { Client, type ListQuery, type SandboxPage } from './client.ts';
export type { ClientOptions } from './connection.ts';
export type { ExecLine } from './exec-line.ts';
export type { Content, ReadFile } from './files.ts';
export type { AttachRequest, ExecEvent, ExecSocket, SocketRequest } from './socket.ts';
