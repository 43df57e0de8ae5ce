// A language server that is warm behind gin: against the server alone on a pipe, asked the same, and against a cold server a call.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratch, startDaemon } from "./support/daemon.ts";
import { placeOf, SUBJECTS, type Subject, serverEnv } from "./support/lsp.ts";
import { sideBySide, Times } from "./support/measure.ts";
import { atLeast, atMost, type Ratio, report, shown } from "./support/report.ts";
import { type AloneServer, startAlone } from "./support/server-alone.ts";

const RUNS = Number(process.env.GIN_BENCH_RUNS ?? "200");
const COLD_RUNS = 5;

const ratios: Record<string, Ratio> = {};
const absolute: Record<string, number> = {};
for (const subject of SUBJECTS) await measure(subject);
report("lsp", ratios, absolute, RUNS);
process.exit(0);

async function measure(subject: Subject): Promise<void> {
  const { server, home, declared, user, wrong, languageId } = subject;
  const root = join(scratch(server), "ws");
  absolute[`${server}_modules`] = subject.plant(root);
  const name = declared.slice(declared.lastIndexOf(" ") + 1);
  const declaration = placeOf(root, home, declared);
  const use = placeOf(root, user, name);
  const base = readFileSync(join(root, user), "utf8");

  const daemon = await startDaemon(root, serverEnv(scratch("tmp")));
  const gin = await daemon.client();
  const ours = (place: { line: number; character: number }) => ({ line: place.line + 1, character: place.character + 1 });
  const definition = () => gin.lsp({ action: "definition", server, path: user, ...ours(use), timeoutMs: 120_000 });
  const references = () =>
    gin.lsp({ action: "references", server, path: home, ...ours(declaration), timeoutMs: 120_000, pageSize: 1_000 });
  const diagnostics = () => gin.lsp({ action: "diagnostics", server, path: user, timeoutMs: 120_000 });
  while ((await gin.context({ sections: ["import"] })).import?.done !== true)
    await new Promise((resolve) => setTimeout(resolve, 20));
  const total = (await references()).total;
  expectSame("definition", (await definition()).total, 1);

  const alone = await startAlone(subject.command, root);
  await alone.open(user, languageId);
  await alone.open(home, languageId);
  expectSame("references", (await aloneReferences(alone)).length, total);

  const warm = await sideBySide(
    { gin: definition, alone: () => aloneDefinition(alone), read: () => gin.readPath({ path: user }) },
    { runs: RUNS, warm: 20 },
  );
  add("definition", warm.gin, warm.alone);
  // What any question to gin takes on this machine now.
  absolute[`${server}_read_gin_ms`] = warm.read.p50;
  const many = await sideBySide({ gin: references, alone: () => aloneReferences(alone) }, { runs: RUNS / 4, warm: 5 });
  add("references", many.gin, many.alone);
  absolute[`${server}_references`] = total;

  // Each edit is another one, made on disk by an editor for gin, and told by didChange to the server alone.
  let number = 0;
  const edited = (): string => `${base}\n${wrong(++number)}\n`;
  const fresh: { gin: number[]; alone: number[] } = { gin: [], alone: [] };
  for (let run = 0; run < RUNS / 4 + 3; run++) {
    const text = edited();
    writeFileSync(join(root, `${user}.new`), text);
    renameSync(join(root, `${user}.new`), join(root, user));
    const from = performance.now();
    const said = await diagnostics();
    const between = performance.now();
    expectSame(
      "diagnostics",
      said.diagnostics[0]?.diagnostics.some(({ span }) => span?.start?.line === text.split("\n").length - 1),
      true,
    );
    const begun = performance.now();
    await alone.change(user, text);
    const items = await aloneDiagnostics(alone);
    const ended = performance.now();
    expectSame(
      "diagnostics",
      items.some(({ range }) => range.start.line === text.split("\n").length - 2),
      true,
    );
    if (run < 3) continue;
    fresh.gin.push(between - from);
    fresh.alone.push(ended - begun);
  }
  add("edit to diagnostics", new Times(fresh.gin), new Times(fresh.alone));

  const cold: number[] = [];
  for (let run = 0; run < COLD_RUNS; run++) {
    const from = performance.now();
    const one = await startAlone(subject.command, root);
    await one.open(user, languageId);
    await aloneDefinition(one);
    cold.push(performance.now() - from);
    await one.stop();
  }
  absolute[`${server}_cold_definition_ms`] = new Times(cold).p50;
  ratios[`${server}: a cold server a call to gin, definition`] = atLeast(new Times(cold).p50 / warm.gin.p50, 50);
  await alone.stop();
  gin.close();
  await daemon.stop();

  function add(what: string, ofGin: Times, ofServer: Times): void {
    ratios[`${server}: ${what}, milliseconds beyond the server's own`] = atMost(ofGin.p50 - ofServer.p50, 1);
    ratios[`${server}: ${what}, gin to the server alone`] = shown(ofGin.p50 / ofServer.p50);
    const key = `${server}_${what.replaceAll(" ", "_")}`;
    absolute[`${key}_gin_ms`] = ofGin.p50;
    absolute[`${key}_gin_p95_ms`] = ofGin.at(0.95);
    absolute[`${key}_alone_ms`] = ofServer.p50;
  }
  async function aloneDefinition(one: AloneServer): Promise<unknown> {
    return one.connection.sendRequest("textDocument/definition", { textDocument: { uri: one.uri(user) }, position: use });
  }
  async function aloneReferences(one: AloneServer): Promise<readonly unknown[]> {
    const context = { includeDeclaration: true };
    return one.connection.sendRequest("textDocument/references", {
      textDocument: { uri: one.uri(home) },
      position: declaration,
      context,
    });
  }
  async function aloneDiagnostics(
    one: AloneServer,
  ): Promise<readonly { readonly range: { readonly start: { readonly line: number } } }[]> {
    const answer = await one.connection.sendRequest<{ readonly items: readonly { range: { start: { line: number } } }[] }>(
      "textDocument/diagnostic",
      { textDocument: { uri: one.uri(user) } },
    );
    return answer.items;
  }
}

/** A bench of wrong answers measures nothing. */
function expectSame(what: string, found: unknown, wanted: unknown): void {
  if (found !== wanted) throw new Error(`${what}: ${String(found)} instead of ${String(wanted)}`);
}
