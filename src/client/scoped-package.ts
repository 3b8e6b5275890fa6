// The exports of `@svc-sandbox/client`. Only names in this file are public. `package.ts` has those of `svc/client`.
export { ServiceError } from '../domain/errors.ts';
export type { AdmissionDecision } from '../schema/admission.ts';
export type { AuditQuery, AuditRecord } from '../schema/audit.ts';
export type { CodeContext, CodeError, CodeLine, CodeOutput, CodeResult } from '../schema/code.ts';
export type { Credential, CredentialPut } from '../schema/credential.ts';
export type { Diagnostics, MetricsBody } from '../schema/diagnostics.ts';
export type {
  EgressCheck,
  EgressCheckRequest,
  EgressGroup,
  EgressLogLine,
  EgressLogQuery,
  EgressPolicy,
  EgressStatus,
  EgressSuggestion,
} from '../schema/egress.ts';
export type { ErrorCode } from '../schema/error.ts';
export type { Event, EventQuery, EventType } from '../schema/event.ts';
export type { ExecItem, ExecOutputQuery, ExecRequest, ExecResult } from '../schema/exec.ts';
export type { ArchiveUnpacked, FileInfo, FileWritten } from '../schema/file.ts';
export type { Image, ImageSummary } from '../schema/image.ts';
export type {
  ImageDeleted,
  ImageImportLine,
  ImageImportQuery,
  ImageListQuery,
  ImagePruneRequest,
  ImagePullLine,
  ImagePullRequest,
  ImagesPruned,
  ImagesPulled,
  ImagesStored,
  ImageTagRequest,
} from '../schema/image-calls.ts';
export type { Key, KeyCreate, KeyListQuery, KeyRotate, KeyWithSecret } from '../schema/key.ts';
export type { PoolStatus } from '../schema/pool.ts';
export type { PreviewLink } from '../schema/preview.ts';
export type { ProviderDetail, ProviderItem, ProviderTests } from '../schema/provider.ts';
export type { Quota, QuotaListQuery, QuotaRequest, QuotaSummary, QuotaUsage } from '../schema/quota.ts';
export type { PruneResult, Sandbox as SandboxRecord, SpawnRequest } from '../schema/sandbox.ts';
export type { Identity, Session, SessionCreate, SessionWithToken } from '../schema/session.ts';
export type { Snapshot } from '../schema/snapshot.ts';
export type { Health, Live, Ready } from '../schema/system.ts';
export type {
  Template,
  TemplateCreate,
  TemplateListQuery,
  TemplateSpawn,
  TemplateUpdate,
} from '../schema/template.ts';
export type { Worker } from '../schema/worker.ts';
export type { CallTerms, ExecTerms } from './call.ts';
export { Client, type ListQuery, type SandboxPage } from './client.ts';
export type { ClientOptions } from './connection.ts';
export type {
  ErrorLine,
  ExecLine,
  ExitLine,
  KeepaliveLine,
  OutputLine,
  StartLine,
} from './exec-line.ts';
export type { Content, ReadFile } from './files.ts';
export type { PortRequest } from './ports.ts';
export type { RetryTerms } from './retry.ts';
export { type ExecOptions, Sandbox } from './sandbox.ts';
export type { AttachRequest, ExecEvent, ExecSocket, SocketRequest } from './socket.ts';
