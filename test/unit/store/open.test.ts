import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkIntegrity, loadSqlite, openStore, sqliteVersion } from "../../../src/daemon/store/index.ts";
import { MIGRATIONS, migrate, SCHEMA_VERSION } from "../../../src/daemon/store/schema.ts";
import { freshDirectory, Line, opened, request, sha } from "./fixture.ts";

const both = [{ inline: true }, { inline: false }];

/** A closed store with a little in it. */
async function closedStore(): Promise<string> {
  const directory = join(freshDirectory(), "data");
  const store = await openStore({ directory, inline: true });
  await (await Line.make(store)).save({ a: "1" });
  await store.close();
  return directory;
}

describe("opening a store", () => {
  it("makes it private, in WAL, strict, with incremental vacuum, and finds it again", async () => {
    const directory = join(freshDirectory(), "data");
    const clock = { wallMs: () => 1234, monotonicMs: () => 0, after: () => () => {} };
    const store = await opened({ directory, clock });
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    const facts = store.read.facts();
    expect(facts).toMatchObject({
      schemaVersion: SCHEMA_VERSION,
      createdMs: 1234,
      requestsKeptSinceMs: 1234,
      leaseIncarnation: "",
    });
    expect(facts.cursorKey.length).toBe(32);
    expect(facts.storeId).toMatch(/^st_[0-9a-f]{20}$/);
    expect(facts.bytes).toBeGreaterThan(0);
    await store.close();
    const again = await opened({ directory, clock: { ...clock, wallMs: () => 9999 } });
    expect({ ...again.read.facts(), bytes: 0 }).toEqual({ ...facts, bytes: 0 });
    const db = loadSqlite().open(join(directory, "store.db"), { readonly: true });
    expect(db.pragma("auto_vacuum", { simple: true })).toBe(2);
    expect(db.pragma("journal_mode", { simple: true })).toBe("wal");
    const loose = db
      .prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND strict = 0 AND name NOT LIKE 'sqlite_%'")
      .all();
    expect(loose).toEqual([]);
    db.close();
  });

  it("migrates step by step, each in a transaction, from wherever a store stands", () => {
    const db = loadSqlite().open(":memory:");
    const finished: string[] = [];
    const second = "CREATE TABLE extra(a INTEGER) STRICT; INSERT INTO extra VALUES (1)";
    migrate(db, () => finished.push("new"), MIGRATIONS);
    expect(db.pragma("user_version", { simple: true })).toBe(MIGRATIONS.length);
    const broken = [...MIGRATIONS, second, "CREATE TABLE another(a INTEGER); SELECT no_such_function()"];
    expect(() => migrate(db, () => finished.push("again"), broken)).toThrow(/no such function/);
    expect(db.pragma("user_version", { simple: true })).toBe(MIGRATIONS.length + 1);
    expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'another'").pluck().get()).toBe(0);
    migrate(db, () => finished.push("again"), [...MIGRATIONS, second, "UPDATE extra SET a = a + 1"]);
    expect(db.prepare("SELECT a FROM extra").pluck().get()).toBe(2);
    expect(finished).toEqual(["new"]);
    db.close();
  });

  it("brings a store of the version before along: no workspace of it is trusted", () => {
    const db = loadSqlite().open(":memory:");
    migrate(db, () => {}, MIGRATIONS.slice(0, 2));
    db.exec("INSERT INTO repository(id, name) VALUES ('rp_1', 'shop')");
    db.exec(
      "INSERT INTO workspace(id, name, repository, root, device, inode, incarnation, generation, epoch, head, tree, base, status, lease_epoch) VALUES ('ws_1', 'shop', 1, '/shop', '1', '2', 'in_1', 3, 1, 'ck_1', x'00', '', 'active', 0)",
    );
    migrate(db, () => {});
    expect(db.prepare("SELECT trusted, generation FROM workspace").all()).toEqual([{ trusted: 0, generation: 3 }]);
    db.close();
  });

  it.each(both)("leaves a store of a newer version as it is, naming both versions (%o)", async ({ inline }) => {
    const directory = await closedStore();
    const file = join(directory, "store.db");
    const db = loadSqlite().open(file);
    db.pragma(`user_version = ${SCHEMA_VERSION + 3}`);
    // Left as a killed daemon leaves it: the newer version may still be in the WAL alone.
    const live = freshDirectory();
    for (const name of ["store.db", "store.db-wal"]) copyFileSync(join(directory, name), join(live, name));
    db.close();
    const before = ["store.db", "store.db-wal"].map((name) => sha(readFileSync(join(live, name))));
    await expect(openStore({ directory: live, inline })).rejects.toMatchObject({
      reason: "STORE_TOO_NEW",
      message: `the store has version ${SCHEMA_VERSION + 3}; this gin knows versions up to ${SCHEMA_VERSION}`,
      facts: { store_version: SCHEMA_VERSION + 3, supported_version: SCHEMA_VERSION },
    });
    expect(["store.db", "store.db-wal"].map((name) => sha(readFileSync(join(live, name))))).toEqual(before);
    expect(() => checkIntegrity(live)).toThrow(expect.objectContaining({ reason: "STORE_TOO_NEW" }));
  });

  it.each(both)("refuses a file that is no store of ours and does not touch it (%o)", async ({ inline }) => {
    const text = freshDirectory();
    writeFileSync(join(text, "store.db"), "not a database at all, but long enough to have a header ".repeat(100));
    await expect(openStore({ directory: text, inline })).rejects.toMatchObject({ reason: "STORE_CORRUPT" });
    expect(readFileSync(join(text, "store.db"), "utf8")).toMatch(/^not a database/);
    expect(checkIntegrity(text).ok).toBe(false);
    const foreign = freshDirectory();
    const db = loadSqlite().open(join(foreign, "store.db"));
    db.exec("CREATE TABLE theirs(a)");
    db.close();
    await expect(openStore({ directory: foreign, inline })).rejects.toMatchObject({ reason: "STORE_CORRUPT" });
  });

  it("finds damage: a cut file, a changed content, a lost side segment", async () => {
    const directory = await closedStore();
    expect(checkIntegrity(directory, true)).toEqual({ ok: true, problems: [] });
    const cut = freshDirectory();
    copyFileSync(join(directory, "store.db"), join(cut, "store.db"));
    truncateSync(join(cut, "store.db"), 5 * 4096);
    expect(checkIntegrity(cut).ok).toBe(false);
    const store = await opened({ directory });
    const line = new Line(store, 1);
    line.refresh();
    const large = Buffer.alloc(1024 * 1024 + 1, 7);
    await line.save({ large });
    const db = loadSqlite().open(join(directory, "store.db"));
    db.prepare("UPDATE object SET body = ? WHERE codec = 0").run(Buffer.from("2"));
    db.close();
    expect(() => store.read.object(sha("1"))).toThrow(expect.objectContaining({ reason: "STORE_CORRUPT" }));
    truncateSync(join(directory, "side", "000001.seg"), 1000);
    expect(() => store.read.object(sha(large))).toThrow(expect.objectContaining({ reason: "STORE_CORRUPT" }));
    expect(checkIntegrity(directory).ok).toBe(true);
    expect(checkIntegrity(directory, true).problems).toEqual([
      expect.stringContaining(sha("1").slice(0, 12)),
      expect.stringContaining(sha(large).slice(0, 12)),
    ]);
  });

  it("does not get slower with what it holds", async () => {
    const directory = join(freshDirectory(), "data");
    const store = await openStore({ directory, inline: true });
    const objects = Array.from({ length: 100_000 }, (_, index) => ({
      sha256: sha(`o${index}`),
      bytes: Buffer.from(`o${index}`),
    }));
    await store.write("objects", { objects });
    await store.close();
    // Counted by what is read, since times say little on a busy machine: the pages of the header, schema and meta.
    const before = statSync(join(directory, "store.db")).size;
    expect(before).toBeGreaterThan(8 * 1024 * 1024);
    const started = performance.now();
    const again = await opened({ directory });
    again.read.facts();
    expect(again.read.hasObject(sha("o99999"))).toBe(true);
    expect(performance.now() - started).toBeLessThan(500);
  });
});

describe("SQLite's loader", () => {
  it("takes the copy that this Node can load, and says its version", () => {
    const napi = Number(process.versions.napi);
    expect(loadSqlite().copy).toBe(napi >= 10 ? "better-sqlite3" : "better-sqlite3-v12");
    expect(sqliteVersion()).toMatch(/^3\.\d+\.\d+$/);
  });

  const unbuilt = () => {
    throw new Error("Could not locate the bindings file. Tried:\n → /somewhere/build/better_sqlite3.node");
  };
  const other = () => {
    throw Object.assign(new Error("was compiled against a different Node.js version using NODE_MODULE_VERSION 127"), {
      code: "ERR_DLOPEN_FAILED",
    });
  };
  const absent = (name: string) => createRequire("/nowhere/at/all.js")(name) as unknown;

  it.each([
    [
      9,
      unbuilt,
      "better-sqlite3-v12",
      /its binary was never built/,
      /npm rebuild better-sqlite3-v12 --foreground-scripts \(.*python3.*compiler/,
    ],
    [9, other, "better-sqlite3-v12", /built for another Node/, /npm rebuild better-sqlite3-v12/],
    [9, absent, "better-sqlite3-v12", /is not installed/, /npm install --include=optional --foreground-scripts \(/],
    [10, absent, "better-sqlite3", /is not installed/, /npm install --include=optional$/],
    [10, other, "better-sqlite3", /built for another Node/, /npm install --force --include=optional better-sqlite3@13/],
  ])("says what is missing and what mends it: Node-API %i, %o", (napi, load, copy, message, suggestion) => {
    // As better-sqlite3 does: the binary is looked for when the first connection is made.
    const lazily = (name: string) =>
      load === absent
        ? load(name)
        : function Database() {
            load(name);
          };
    expect(() => loadSqlite(lazily, napi)).toThrow(
      expect.objectContaining({
        reason: "UNSUPPORTED",
        message: expect.stringMatching(message),
        suggestion: expect.stringMatching(suggestion),
        facts: { requested: copy, supported: [] },
      }),
    );
  });
});

describe("upkeep", () => {
  const day = 24 * 3600 * 1000;

  it("compresses contents without changing what is read", async () => {
    const directory = join(freshDirectory(), "data");
    const store = await opened({ directory });
    const text = "const answer = 42;\n".repeat(500);
    const small = "tiny";
    const random = Buffer.from(Array.from({ length: 3000 }, (_, index) => (index * 7919 * index) % 251));
    await store.write("objects", {
      objects: [text, small, random].map((bytes) => ({ sha256: sha(bytes), bytes: Buffer.from(bytes) })),
    });
    await store.write("upkeep", { nowMs: 1 });
    const db = loadSqlite().open(join(directory, "store.db"), { readonly: true });
    const codecs = db.prepare("SELECT codec, length(body) < size AS less FROM object ORDER BY seq").all();
    db.close();
    expect(codecs[0]).toEqual({ codec: 1, less: 1 });
    expect(codecs[1]).toEqual({ codec: 0, less: 0 });
    for (const bytes of [text, small, random]) expect(sha(store.read.object(sha(bytes)) ?? "")).toBe(sha(bytes));
    expect(checkIntegrity(directory, true)).toEqual({ ok: true, problems: [] });
  });

  it("forgets outcomes after seven days and lists after one, and says since when", async () => {
    const store = await opened();
    const detail = { workspace: 1, principal: "alice", kind: "paths", body: Buffer.from("[]") };
    await store.write("request", request("old", { timeMs: 10 * day }));
    await store.write("request", request("new", { timeMs: 12 * day }));
    await store.write("detail", { ...detail, id: "dt_old", timeMs: 16 * day });
    await store.write("detail", { ...detail, id: "dt_new", timeMs: 17 * day });
    await store.write("detail", { ...detail, id: "dt_new", timeMs: 17 * day, body: Buffer.from("[1]") });
    await store.write("upkeep", { nowMs: 17 * day + 1 });
    expect(store.read.request(1, "alice", "old")).toBeUndefined();
    expect(store.read.request(1, "alice", "new")?.id).toBe("new");
    expect(store.read.detail("dt_old")).toBeUndefined();
    expect(store.read.detail("dt_new")).toEqual({ ...detail, id: "dt_new", timeMs: 17 * day, body: Buffer.from("[1]") });
    expect(store.read.facts().requestsKeptSinceMs).toBeGreaterThanOrEqual(10 * day + 1);
  });

  it("lets the newest thousand ended leases stay", async () => {
    const store = await opened();
    const { rowid } = await Line.make(store);
    for (let epoch = 1; epoch <= 1005; epoch++) {
      const lease = {
        id: `ls_${epoch}`,
        workspace: rowid,
        holder: "a",
        intent: "",
        paths: [],
        epoch,
        ttlMs: 5000,
        state: "held" as const,
      };
      await store.write("lease.grant", { lease });
    }
    await store.write("upkeep", { nowMs: 1 });
    expect(store.read.leases(rowid).length).toBe(1000);
    expect(store.read.lease("ls_5")).toBeUndefined();
    expect(store.read.lease("ls_6")?.state).toBe("ended");
    expect(store.read.lease("ls_1005")?.state).toBe("held");
  });
});

describe("the log", () => {
  it("finds by path, prefix, principal and cause, newest first, a page at a time", async () => {
    const store = await opened();
    const line = await Line.make(store);
    const ids = [
      await line.save({ "src/a": "1" }),
      await line.save({ "src/b": "1", other: "1" }, {}, { principal: "bob" }),
      await line.save({ "src-not/a": "1" }, {}, { cause: "tool" }),
      await line.save({ "src/a": "2" }, {}, { principal: "bob", cause: "tool" }),
    ];
    const find = (query: object) =>
      store.read.checkpoints({ workspace: line.rowid, limit: 10, ...query }).map(({ id }) => ids.indexOf(id));
    expect(find({})).toEqual([3, 2, 1, 0]);
    expect(find({ limit: 2 })).toEqual([3, 2]);
    expect(find({ beforeGeneration: 3 })).toEqual([1, 0]);
    expect(find({ path: "src" })).toEqual([3, 1, 0]);
    expect(find({ path: "src/a" })).toEqual([3, 0]);
    expect(find({ path: "sr" })).toEqual([]);
    expect(find({ principal: "bob" })).toEqual([3, 1]);
    expect(find({ cause: "tool", path: "src", principal: "bob" })).toEqual([3]);
    expect(ids.indexOf(store.read.lastTouch(line.rowid, "src/a")?.id ?? "")).toBe(3);
    expect(ids.indexOf(store.read.lastTouch(line.rowid, "other")?.id ?? "")).toBe(1);
    expect(store.read.lastTouch(line.rowid, "src")).toBeUndefined();
    const held = (path: string, content: string): boolean => store.read.everHeld(line.rowid, path, sha(content));
    expect([held("src/a", "1"), held("src/a", "2"), held("other", "2"), held("src", "2")]).toEqual([true, true, false, false]);
  });

  it("gives the same answer below a prefix that very many touches lie under", async () => {
    const store = await opened();
    const line = await Line.make(store);
    const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`wide/${index}`, "x"]));
    const first = await line.save(wide);
    await line.save({ elsewhere: "1" });
    const last = await line.save({ "wide/7": "2" });
    const found = store.read.checkpoints({ workspace: line.rowid, path: "wide", limit: 10 });
    expect(found.map(({ id }) => id)).toEqual([last, first]);
    expect(store.read.touched(first, 4990, 100)).toMatchObject({ count: 5000, paths: { length: 10 } });
  });
});

it("leaves nothing beside the store but its side directory", async () => {
  const directory = await closedStore();
  mkdirSync(join(directory, "side"), { recursive: true });
  expect(readdirSync(directory).sort()).toEqual(["side", "store.db"]);
});
