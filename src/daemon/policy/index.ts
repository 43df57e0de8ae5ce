// The door of policy: who calls, and what that caller may do. Rules and approvals come with later issues.

export { readTokenFile, TokenFileError, writeTokenFile } from "../../paths/index.ts";
export { createGate } from "./gate.ts";
export { isPrincipal, OWNER } from "./principal.ts";
export { mayTouch, mayUseWorkspace, requireScope, requireWorkspace } from "./rights.ts";
export { createTokens } from "./tokens.ts";
export type { GateConfig, GateHead, NewToken, PolicyGate, TokenSpec, Tokens } from "./types.ts";
