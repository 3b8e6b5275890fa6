// Who a sandbox is. Outside: a uid of its own above every range that hosts hand out. Inside: one ordinary user, in a
// user namespace that maps nobody else.
export const UID_BASE = 1_879_048_192;
export const UID_SLOTS = 65_536;
export const INSIDE_UID = 1000;
export const INSIDE_GID = 1000;
