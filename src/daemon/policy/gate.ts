import { type Caller, GinError, SCOPES, type Scope } from "../base/index.ts";
import type { TokenRow } from "../store/index.ts";
import { isPrincipal, isSubAgent, OWNER } from "./principal.ts";
import type { GateConfig, GateHead, PolicyGate, Tokens } from "./types.ts";

const ALL: ReadonlySet<Scope> = new Set(SCOPES);
/** `gin-client` is for logs: printable, short, else unknown. */
const CLIENT = /^[\x21-\x7e]{1,128}$/;

/**
 * The gate of both transports. On the socket the file's mode has decided already: `gin-principal` is attribution, and a
 * token is looked at only when one is presented. On TCP the token decides, and the header may only append "/sub".
 */
export function createGate({ tokens, config }: { readonly tokens: Tokens; readonly config?: GateConfig }): PolicyGate {
  const protocol = config?.protocol ?? 1;
  return {
    admit(head) {
      checkProtocol(head.headers, protocol);
      const client = clientOf(head.headers);
      const named = head.headers.get("gin-principal") ?? "";
      const bearer = bearerOf(head, tokens);
      if (bearer !== undefined) return byToken(head, tokens.verify(bearer, head.remoteAddress), named, client);
      if (head.transport === "tcp") throw tokens.missing(head.remoteAddress);
      if (named !== "" && !isPrincipal(named)) throw badName("gin-principal is not a principal's name");
      const principal = named === "" ? OWNER : named;
      return { principal, transport: "socket", scopes: ALL, workspaces: undefined, paths: undefined, tokenId: undefined, client };
    },
  };
}

function byToken(head: GateHead, row: TokenRow, named: string, client: string): Caller {
  return {
    principal: appended(row.principal, named),
    transport: head.transport,
    scopes: new Set(SCOPES.filter((scope) => row.scopes.includes(scope))),
    workspaces: row.workspaces.length === 0 ? undefined : row.workspaces,
    paths: row.paths.length === 0 ? undefined : row.paths,
    tokenId: row.id,
    client,
  };
}

/** The token's principal, with the sub-agent the caller names. */
function appended(principal: string, named: string): string {
  if (named === "") return principal;
  if (!isSubAgent(named)) throw badName("with a token, gin-principal may only append /NAME");
  if (principal.includes("/")) throw badName("the token's principal is a sub-agent already");
  return principal + named;
}

/** The token's text, or undefined where none is presented. A header that is no bearer token is a failed attempt. */
function bearerOf(head: GateHead, tokens: Tokens): string | undefined {
  const header = head.headers.get("authorization");
  if (header === null) return undefined;
  const match = /^bearer +([^\s,]+)$/i.exec(header.trim());
  if (match?.[1] === undefined) throw tokens.missing(head.remoteAddress);
  return match[1];
}

function checkProtocol(headers: GateHead["headers"], supported: number): void {
  const given = headers.get("gin-protocol");
  if (given === null || given === String(supported)) return;
  const requested = /^\d{1,6}$/.test(given) ? given : "one that is no number";
  throw new GinError(
    "UNSUPPORTED",
    `this daemon speaks gin-protocol ${supported}, the caller asked for ${requested}`,
    "use a client and a daemon of the same major version",
    { facts: { supported: String(supported), requested } },
  );
}

function clientOf(headers: GateHead["headers"]): string {
  const client = headers.get("gin-client") ?? "";
  return CLIENT.test(client) ? client : "unknown";
}

function badName(message: string): GinError {
  return new GinError("INVALID_REQUEST", message, undefined, { facts: { field: "gin-principal" } });
}
