// Numbers of the wire between the host and svc-agent (agent/PROTOCOL.md, version 1). Data only: both ends must agree
// on every one of them, so a change here is a change there.

export const PROTOCOL_VERSION = 1;

/** Bytes that follow the length field of a frame: type, stream, payload, tag. */
export const FRAME_MIN = 9;
export const FRAME_MAX = 65_552;
/** Largest payload that fits a frame. */
export const PAYLOAD_MAX = FRAME_MAX - FRAME_MIN;
/** Bytes of one DATA frame, without its channel byte. */
export const DATA_MAX = 65_536;
/** What each direction of each stream may send before any CREDIT. */
export const FIRST_CREDIT = 262_144;

export const ZEROS = 69_632;
/** Where there is no frame to end. */
export const FEWEST_ZEROS = 64;
export const SECRET_BYTES = 16;
export const NONCE_BYTES = 16;

export const ARGUMENTS_MAX = 2 * 1024 * 1024;
export const STREAMS_MAX = 256;
export const CALLS_MAX = 1024;
/** Connections out of the sandbox, open and awaited. */
export const ACCEPTS_MAX = 256;

export const TYPE = {
  HELLO: 1,
  PART: 2,
  OPEN: 3,
  DATA: 4,
  EOF: 5,
  CREDIT: 6,
  CANCEL: 7,
  CALL: 8,
  WELCOME: 16,
  RESULT: 17,
  ERROR: 18,
  STARTED: 19,
} as const;

export const KIND = {
  exec: 1,
  attach: 2,
  read: 3,
  write: 4,
  list: 5,
  glob: 6,
  execs: 7,
  connect: 8,
  console: 9,
  accept: 10,
  watch: 11,
  pack: 14,
  unpack: 15,
  resume: 16,
} as const;

export const METHOD = {
  ping: 1,
  stat: 2,
  mkdir: 3,
  move: 4,
  chmod: 5,
  remove: 6,
  signal: 7,
  resize: 8,
  seed: 9,
  shutdown: 10,
  enter: 11,
  leave: 12,
  gate: 13,
  trust: 14,
  dial: 15,
  deadline: 18,
  usage: 19,
} as const;

/** Bits of what a WELCOME announces. */
export const CAPABILITY = {
  deadlines: 1,
  gate: 2,
  watch: 4,
  archives: 16,
  trust: 32,
  dial: 64,
  attributes: 128,
  usage: 256,
  keep: 512,
  accounts: 1024,
} as const;

/** "No end" of a deadline. */
export const NO_END = 0xffff_ffff_ffff_ffffn;

/** Set in the kind or method of what is done for a tenant, whose uid is then the first argument. */
export const FOR_USER = 0x80;
/** Set in the kind or method of what is done as a user of the sandbox, whose name is then the first argument. */
export const AS_ACCOUNT = 0x40;

export const EXEC_FLAG = { pty: 1, detach: 2, stdin: 4, keyed: 8, keep: 16 } as const;

/** "Not given" of u32 modes. */
export const KEEP_MODE = 0xffff_ffff;
