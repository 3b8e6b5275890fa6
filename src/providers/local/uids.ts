// Who a sandbox is. Outside: a uid of its own above every range that hosts hand out. Inside: one ordinary user, in a
// user namespace that maps nobody else.
export const UID_BASE = 1_879_048_192;
export const UID_SLOTS = 65_536;
/** The VM of a pool takes a block of as many, above those of single sandboxes and below 2^31, where some programs stop. */
export const POOL_UIDS = 65_536;
export const POOL_BLOCKS = 4095;
export const INSIDE_UID = 1000;
export const INSIDE_GID = 1000;
