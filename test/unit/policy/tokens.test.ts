import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Caller, type Clock, type Log, SCOPES, type Scope, systemRandom } from "../../../src/daemon/base/index.ts";
import {
  createGate,
  createTokens,
  mayTouch,
  requireScope,
  requireWorkspace,
  type Tokens,
} from "../../../src/daemon/policy/index.ts";
import { openStore, type Store } from "../../../src/daemon/store/index.ts";
import { tempDir } from "../../helpers/temp.ts";

const DAY = 86_400_000;

/** A clock that tests move. */
function movableClock() {
  let wall = Date.UTC(2026, 10, 30);
  let monotonic = 0;
  const clock: Clock = { wallMs: () => wall, monotonicMs: () => monotonic, after: () => () => {} };
  return {
    clock,
    advance(ms: number) {
      wall += ms;
      monotonic += ms;
    },
  };
}

const owner: Caller = {
  principal: "owner",
  transport: "socket",
  scopes: new Set(SCOPES),
  workspaces: undefined,
  paths: undefined,
  tokenId: undefined,
  client: "t",
};

let store: Store;
let tokens: Tokens;
let time: ReturnType<typeof movableClock>;
let lines: string[];
let log: Log;

function open(): Tokens {
  return createTokens({ store, clock: time.clock, random: systemRandom, log });
}

beforeEach(async () => {
  const add = (facts: object, message: string) => {
    lines.push(`${message} ${JSON.stringify(facts)}`);
  };
  lines = [];
  log = { debug: add, info: add, warn: add, error: add };
  time = movableClock();
  store = await openStore({ directory: tempDir("tokens") });
  tokens = open();
});
afterEach(() => store.close());

describe("making a token", () => {
  test("gives its text once and keeps a hash", async () => {
    const { token, row } = await tokens.create(owner, {
      principal: "agent-7",
      scopes: ["read", "save", "read"],
      paths: ["src/"],
      workspaces: ["ws_1"],
    });
    expect(token).toMatch(/^gin_[0-9a-v]{10}_[A-Za-z0-9_-]{43}_[0-9a-v]{6}$/);
    expect(row).toMatchObject({
      principal: "agent-7",
      scopes: ["read", "save"],
      paths: ["src"],
      workspaces: ["ws_1"],
      createdBy: "owner",
      lastUsedMs: 0,
      revokedMs: 0,
    });
    expect(row.id).toBe(`tk_${token.slice(4, 14)}`);
    expect(JSON.stringify(tokens.list())).not.toContain(token.slice(15, 58));
    expect(store.read.tokens()).toEqual([row]);
    expect(open().verify(token, "r").id).toBe(row.id);
  });

  test.each<[readonly Scope[], number, number]>([
    [["read"], 0, 30 * DAY],
    [["read", "shell"], 0, DAY],
    [["admin"], 0, DAY],
    [["admin"], 366 * DAY, 366 * DAY],
    [["read"], 1, 1],
  ])("with scopes %j and expires_in_ms %d lives %d ms", async (scopes, expiresInMs, life) => {
    const { row } = await tokens.create(owner, { principal: "a", scopes, expiresInMs });
    expect(row.expiresMs - row.createdMs).toBe(life);
  });

  test.each([
    { principal: "", scopes: ["read"] },
    { principal: "a/b/c", scopes: ["read"] },
    { principal: "-a", scopes: ["read"] },
    { principal: "a b", scopes: ["read"] },
    { principal: "a\n", scopes: ["read"] },
    { principal: "x".repeat(65), scopes: ["read"] },
    { principal: "owner", scopes: ["read"] },
    { principal: "owner/x", scopes: ["read"] },
    { principal: "a", scopes: [] },
    { principal: "a", scopes: ["write"] },
    { principal: "a", scopes: ["read"], expiresInMs: 366 * DAY + 1 },
    { principal: "a", scopes: ["read"], expiresInMs: -1 },
    { principal: "a", scopes: ["read"], expiresInMs: 1.5 },
    { principal: "a", scopes: ["read"], paths: ["/etc"] },
    { principal: "a", scopes: ["read"], paths: ["a/../b"] },
    { principal: "a", scopes: ["read"], paths: ["."] },
    { principal: "a", scopes: ["read"], paths: ["a//b"] },
    { principal: "a", scopes: ["read"], paths: [""] },
    { principal: "a", scopes: ["read"], workspaces: [""] },
  ])("refuses %j", async (spec) => {
    await expect(tokens.create(owner, spec)).rejects.toMatchObject({ reason: "INVALID_REQUEST" });
    expect(store.read.tokens()).toEqual([]);
  });

  test("hands on no more than its maker has", async () => {
    const maker: Caller = { ...owner, principal: "m", scopes: new Set(["read", "admin"]), workspaces: ["ws_1"], paths: ["src"] };
    const fits = { principal: "a", scopes: ["read"], workspaces: ["ws_1"], paths: ["src/a"] };
    await expect(tokens.create(maker, fits)).resolves.toBeDefined();
    for (const wider of [
      { scopes: ["save"] },
      { workspaces: [] },
      { workspaces: ["ws_2"] },
      { paths: [] },
      { paths: ["srcs"] },
      { paths: ["lib"] },
    ]) {
      await expect(tokens.create(maker, { ...fits, ...wider })).rejects.toMatchObject({ reason: "SCOPE_FORBIDDEN" });
    }
  });
});

describe("checking a token", () => {
  test("any typo is refused without a look at the rows, with one text for all", async () => {
    const { token } = await tokens.create(owner, { principal: "a", scopes: ["read"] });
    const texts = new Set<string>();
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(..."aB3_-."), (at, character) => {
        const typo = token.slice(0, at) + character + token.slice(at + 1);
        if (typo === token) return;
        try {
          tokens.verify(typo, `r${at}`);
          throw new Error(`taken: position ${at}`);
        } catch (cause) {
          expect(cause).toMatchObject({ reason: "UNAUTHENTICATED" });
          texts.add(String(cause));
        }
      }),
    );
    const { token: other, row } = await tokens.create(owner, { principal: "b", scopes: ["read"] });
    await tokens.revoke(row.id);
    expect(() => tokens.verify(other, "r")).toThrow([...texts][0]?.replace("GinError: ", ""));
    expect(texts.size).toBe(1);
  });

  test("two tokens' halves do not fit together", async () => {
    const one = await tokens.create(owner, { principal: "a", scopes: ["read"] });
    const two = await tokens.create(owner, { principal: "b", scopes: ["read"] });
    const mixed = one.token.slice(0, 15) + two.token.slice(15);
    expect(() => tokens.verify(mixed, "r")).toThrow(expect.objectContaining({ reason: "UNAUTHENTICATED" }));
  });

  test("it expires to the millisecond, and says so", async () => {
    const { token } = await tokens.create(owner, { principal: "a", scopes: ["read"], expiresInMs: 1000 });
    time.advance(999);
    expect(tokens.verify(token, "r").principal).toBe("a");
    time.advance(1);
    expect(() => tokens.verify(token, "r")).toThrow(expect.objectContaining({ reason: "TOKEN_EXPIRED" }));
  });

  test("a revocation counts in its own tick, before the store has it, and for good", async () => {
    const { token, row } = await tokens.create(owner, { principal: "a", scopes: ["read"] });
    const heard: string[] = [];
    const stop = tokens.onRevoke((id) => heard.push(id));
    const revoking = tokens.revoke(row.id);
    expect(() => tokens.verify(token, "r")).toThrow(expect.objectContaining({ reason: "UNAUTHENTICATED" }));
    expect(heard).toEqual([row.id]);
    const first = await revoking;
    time.advance(5);
    expect((await tokens.revoke(row.id)).revokedMs).toBe(first.revokedMs);
    expect(heard).toEqual([row.id]);
    stop();
    expect(() => open().verify(token, "r")).toThrow(expect.objectContaining({ reason: "UNAUTHENTICATED" }));
    await expect(tokens.revoke("tk_none")).rejects.toMatchObject({ reason: "ID_NOT_FOUND" });
  });

  test("its last use is kept by the minute", async () => {
    const { token, row } = await tokens.create(owner, { principal: "a", scopes: ["read"] });
    const minute = time.clock.wallMs();
    tokens.verify(token, "r");
    time.advance(59_000);
    tokens.verify(token, "r");
    expect(tokens.token(row.id)?.lastUsedMs).toBe(minute);
    time.advance(1000);
    tokens.verify(token, "r");
    await tokens.revoke(row.id);
    expect(store.read.token(row.id)?.lastUsedMs).toBe(minute + 60_000);
  });

  test("the eleventh failure of a minute is told to wait; a good token still passes", async () => {
    const { token } = await tokens.create(owner, { principal: "a", scopes: ["read"] });
    const fail = (remote: string) => {
      try {
        tokens.verify("gin_bad", remote);
      } catch (cause) {
        return (cause as { retryAfterMs: number }).retryAfterMs;
      }
      throw new Error("taken");
    };
    expect(Array.from({ length: 10 }, () => fail("1.2.3.4"))).toEqual(Array<number>(10).fill(0));
    time.advance(10_000);
    expect(fail("1.2.3.4")).toBe(50_000);
    expect(fail("5.6.7.8")).toBe(0);
    expect(tokens.verify(token, "1.2.3.4").principal).toBe("a");
    time.advance(50_000);
    expect(fail("1.2.3.4")).toBe(0);
  });

  test("no log line holds a secret", async () => {
    const { token, row } = await tokens.create(owner, { principal: "a", scopes: ["read"] });
    tokens.verify(token, "r");
    await tokens.revoke(row.id);
    expect(() => tokens.verify(token, "r")).toThrow();
    expect(lines.some((line) => line.includes(row.id))).toBe(true);
    expect(lines.filter((line) => line.includes(token.slice(15, 58)))).toEqual([]);
  });
});

describe("the gate", () => {
  const head = (transport: "socket" | "tcp", headers: Record<string, string> = {}) => ({
    transport,
    path: "/x",
    headers: new Headers(headers),
    remoteAddress: "r",
  });

  test("on the socket: owner, or whoever the header says", () => {
    const gate = createGate({ tokens });
    expect(gate.admit(head("socket"))).toMatchObject({
      principal: "owner",
      transport: "socket",
      workspaces: undefined,
      paths: undefined,
      tokenId: undefined,
    });
    expect(gate.admit(head("socket")).scopes).toEqual(new Set(SCOPES));
    expect(gate.admit(head("socket", { "gin-principal": "alice/tests", "gin-client": "gin-cli/1.0" }))).toMatchObject({
      principal: "alice/tests",
      client: "gin-cli/1.0",
    });
    expect(gate.admit(head("socket", { "gin-client": "a b\tc" })).client).toBe("unknown");
    for (const name of ["a/b/c", "/x", "a b", "ü"]) {
      expect(() => gate.admit(head("socket", { "gin-principal": name }))).toThrow(
        expect.objectContaining({ reason: "INVALID_REQUEST" }),
      );
    }
  });

  test("with a token: the token decides on both, and only /NAME is appended", async () => {
    const { token, row } = await tokens.create(owner, {
      principal: "agent-7",
      scopes: ["save"],
      paths: ["src"],
      workspaces: ["ws_1"],
    });
    const gate = createGate({ tokens });
    for (const transport of ["socket", "tcp"] as const) {
      const authorization = `Bearer ${token}`;
      const caller = gate.admit(head(transport, { authorization, "gin-principal": "/tests" }));
      expect(caller).toMatchObject({
        principal: "agent-7/tests",
        transport,
        paths: ["src"],
        workspaces: ["ws_1"],
        tokenId: row.id,
      });
      expect(caller.scopes).toEqual(new Set(["save"]));
      for (const name of ["owner", "agent-8", "agent-7/tests", "/a/b", "/"]) {
        expect(() => gate.admit(head(transport, { authorization, "gin-principal": name }))).toThrow(
          expect.objectContaining({ reason: "INVALID_REQUEST" }),
        );
      }
      expect(() => gate.admit(head(transport, { authorization: "Bearer gin_bad" }))).toThrow(
        expect.objectContaining({ reason: "UNAUTHENTICATED" }),
      );
      expect(() => gate.admit(head(transport, { authorization: `Basic ${token}` }))).toThrow(
        expect.objectContaining({ reason: "UNAUTHENTICATED" }),
      );
    }
    expect(() => gate.admit(head("tcp"))).toThrow(expect.objectContaining({ reason: "UNAUTHENTICATED" }));
    const sub = await tokens.create(owner, { principal: "agent-7/sub", scopes: ["read"] });
    const twice = { authorization: `bearer ${sub.token}`, "gin-principal": "/more" };
    expect(() => gate.admit(head("tcp", twice))).toThrow(expect.objectContaining({ reason: "INVALID_REQUEST" }));
  });

  test("another protocol major is named beside ours", () => {
    const gate = createGate({ tokens, config: { protocol: 1 } });
    expect(gate.admit(head("socket", { "gin-protocol": "1" })).principal).toBe("owner");
    expect(() => gate.admit(head("socket", { "gin-protocol": "2" }))).toThrow(
      expect.objectContaining({ reason: "UNSUPPORTED", facts: { supported: "1", requested: "2" } }),
    );
  });
});

describe("rights", () => {
  const caller: Caller = { ...owner, scopes: new Set(["save"]), workspaces: ["ws_1"], paths: ["src", "docs/a"] };

  test("prefixes match whole components", () => {
    expect(["src", "src/a", "src/a/b", "docs/a", "docs/a/b"].every((path) => mayTouch(caller, path))).toBe(true);
    expect(["", "srcs", "sr", "src.ts", "docs", "docs/ab", "a/src"].some((path) => mayTouch(caller, path))).toBe(false);
    expect(mayTouch(owner, "")).toBe(true);
  });

  test("a missing scope or workspace is SCOPE_FORBIDDEN; save carries delete", () => {
    requireScope(caller, "save");
    requireScope(caller, "delete");
    requireWorkspace(caller, "ws_1");
    expect(() => requireScope(caller, "read")).toThrow(
      expect.objectContaining({ reason: "SCOPE_FORBIDDEN", facts: { scope: "read" } }),
    );
    expect(() => requireScope({ ...caller, scopes: new Set(["delete"]) }, "save")).toThrow(
      expect.objectContaining({ reason: "SCOPE_FORBIDDEN" }),
    );
    expect(() => requireWorkspace(caller, "ws_2")).toThrow(expect.objectContaining({ reason: "SCOPE_FORBIDDEN" }));
  });
});
