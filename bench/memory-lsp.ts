// Resident size of language servers with 1, 4 and 8 agents on one workspace, against the server alone on a pipe that is asked the same.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { scratch, startDaemon } from "./support/daemon.ts";
import { placeOf, residentBytes, residentOf, SUBJECTS, type Subject, serverEnv } from "./support/lsp.ts";
import { atMost, type Ratio, report } from "./support/report.ts";
import { startAlone } from "./support/server-alone.ts";

const MIB = 1024 * 1024;
const AGENTS = [1, 4, 8];
const ROUNDS = 5;

const ratios: Record<string, Ratio> = {};
const absolute: Record<string, number> = {};
for (const subject of SUBJECTS) await measure(subject);
report("memory-lsp", ratios, absolute, ROUNDS);
process.exit(0);

/** The highest of a few looks in quiet. */
async function highest(look: () => number): Promise<number> {
  let most = 0;
  for (let count = 0; count < 10; count++) {
    await wait(200);
    most = Math.max(most, look());
  }
  return most;
}

async function measure(subject: Subject): Promise<void> {
  const { server, home, user, declared, languageId } = subject;
  const root = join(scratch(server), "ws");
  subject.plant(root);
  const files = [home, user, ...neighbours(root, user)];
  const place = placeOf(root, home, declared);

  const own = scratch("tmp");
  const alone = await startAlone(subject.command, root, serverEnv(own));
  for (const path of files) await alone.open(path, languageId);
  for (let round = 0; round < ROUNDS; round++) {
    await alone.connection.sendRequest("textDocument/references", {
      textDocument: { uri: alone.uri(home) },
      position: place,
      context: { includeDeclaration: true },
    });
    for (const path of files) {
      await alone.connection.sendRequest("textDocument/diagnostic", { textDocument: { uri: alone.uri(path) } });
    }
  }
  const one = await highest(() => residentOf(own, 0));
  absolute[`${server}_alone_mib`] = one / MIB;
  await alone.stop();

  for (const agents of AGENTS) {
    const tmp = scratch("tmp");
    const daemon = await startDaemon(root, serverEnv(tmp));
    const clients = await Promise.all(Array.from({ length: agents }, () => daemon.client()));
    const [first] = clients;
    while ((await first?.context({ sections: ["import"] }))?.import?.done !== true) await wait(20);
    const at = { line: place.line + 1, character: place.character + 1 };
    await Promise.all(
      clients.map(async (gin) => {
        for (let round = 0; round < ROUNDS; round++) {
          await gin.lsp({ action: "references", server, path: home, ...at, timeoutMs: 120_000 });
          for (const path of files) await gin.lsp({ action: "diagnostics", server, path, timeoutMs: 120_000 });
        }
      }),
    );
    const bytes = await highest(() => residentOf(tmp, daemon.pid));
    ratios[`${server}: ${agents} agents to one server alone`] = atMost(bytes / one, 1.3);
    absolute[`${server}_${agents}_agents_mib`] = bytes / MIB;
    absolute[`${server}_${agents}_agents_daemon_mib`] = residentBytes(daemon.pid) / MIB;
    for (const gin of clients) gin.close();
    await daemon.stop();
  }
}

/** Ten files beside one. */
function neighbours(root: string, path: string): string[] {
  const folder = path.slice(0, path.lastIndexOf("/"));
  const extension = path.slice(path.lastIndexOf("."));
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith(extension) && `${folder}/${name}` !== path)
    .sort()
    .slice(0, 10)
    .map((name) => `${folder}/${name}`);
}
