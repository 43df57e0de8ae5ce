import { readTokenFile, TokenFileError, writeTokenFile } from "../paths/index.ts";
import { type Caller, type Clock, SCOPES } from "./base/index.ts";
import type { Tokens } from "./policy/index.ts";

/** Principal of the token that `gin serve` prints. */
const LOCAL = "local";
/** What it may do: everything but decide for the person or act as the owner. */
const LOCAL_SCOPES = SCOPES.filter((scope) => scope !== "approve" && scope !== "admin");
/** Life of a new one, and what must be left of it for it to be kept: whoever starts now has at least half. */
const LIFE_MS = 30 * 86_400_000;
const ENOUGH_MS = LIFE_MS / 2;

/** The daemon itself, as maker of that token. */
const DAEMON: Caller = {
  principal: "owner",
  transport: "socket",
  scopes: new Set(SCOPES),
  workspaces: undefined,
  paths: undefined,
  tokenId: undefined,
  client: "gin/daemon",
};

/**
 * Sees to it that the file holds a good token of the principal `local`: keeps the one there while it is valid for long
 * enough, so that a restart does not lock anybody out, else makes a new one and lets the old one run out by itself.
 */
export async function refreshLocalToken(file: string, tokens: Tokens, clock: Clock): Promise<void> {
  if (isGood(file, tokens, clock)) return;
  const made = await tokens.create(DAEMON, { principal: LOCAL, scopes: LOCAL_SCOPES, expiresInMs: LIFE_MS });
  writeTokenFile(file, made.token);
}

function isGood(file: string, tokens: Tokens, clock: Clock): boolean {
  let text: string;
  try {
    text = readTokenFile(file);
  } catch (thrown) {
    // Absent, damaged or open to others: replaced by a new one.
    if (thrown instanceof TokenFileError) return false;
    throw thrown;
  }
  // Looked up without `verify`, which would count a stale file as an attack.
  const row = tokens.list().find(({ id }) => text.startsWith(`gin_${id.slice("tk_".length)}_`));
  if (row === undefined || row.revokedMs > 0 || row.principal !== LOCAL) return false;
  return row.expiresMs - clock.wallMs() >= ENOUGH_MS && hasSecret(tokens, text);
}

function hasSecret(tokens: Tokens, text: string): boolean {
  try {
    tokens.verify(text, "local.token");
    return true;
  } catch {
    // Another token's id with a wrong secret: replaced.
    return false;
  }
}
