// `gin read` of 4 KiB as a whole process with the daemon up, against starting Node, against the smallest client that Node's own http gives, and
// against curl: the time from exec to exit, which is what a script or an agent's shell waits for.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { plainEnv, repo, scratch, startDaemon } from "./support/daemon.ts";
import { sideBySide } from "./support/measure.ts";
import { atMost, report, shown } from "./support/report.ts";

const RUNS = 80;
const text = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n".repeat(64);
const body = '{"read_path":{"path":"src/file.txt"}}';

const daemon = await startDaemon();
mkdirSync(join(daemon.root, "src"), { recursive: true });
writeFileSync(join(daemon.root, "src/file.txt"), text);

/** One POST and its answer on standard output, over a client module of Node's: what no front-end written in Node can go below. */
const floors = {
  http: `import { request } from "node:http";
    const sent = request({ socketPath: process.argv[2], path: "/gin.v1.GinService/Call", method: "POST", servername: "", agent: false,
      headers: { "content-type": "application/json", "content-length": process.argv[3].length } }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => process.stdout.write(JSON.parse(Buffer.concat(parts).toString()).read_path.text));
    });
    sent.end(process.argv[3]);`,
  net: `import { connect } from "node:net";
    const socket = connect(process.argv[2]);
    const body = process.argv[3];
    socket.write("POST /gin.v1.GinService/Call HTTP/1.1\\r\\nhost: localhost\\r\\nconnection: close\\r\\ncontent-type: application/json\\r\\n" +
      "content-length: " + body.length + "\\r\\n\\r\\n" + body);
    const parts = [];
    socket.on("data", (part) => parts.push(part));
    socket.on("end", () => {
      const answer = Buffer.concat(parts).toString();
      process.stdout.write(JSON.parse(answer.slice(answer.indexOf("{"), answer.lastIndexOf("}") + 1)).read_path.text);
    });`,
};

const folder = scratch("cli");
/** A floor as the bundle a user would start. */
function bundle(name: keyof typeof floors): string {
  const outfile = join(folder, `${name}.cjs`);
  buildSync({
    stdin: { contents: floors[name], loader: "js" },
    outfile,
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    minify: true,
  });
  return outfile;
}

/** Runs a program to its end; one that prints something else than the file's text would be no comparison. */
function whole(command: readonly string[], expected: string): () => void {
  const [file = "", ...args] = command;
  const env = { ...plainEnv, GIN_HOST: daemon.host };
  return () => {
    const { status, stdout, stderr } = spawnSync(file, args, { cwd: repo, env, encoding: "utf8" });
    if (status !== 0 || stdout !== expected) throw new Error(`${command.join(" ")} ended with ${status}: ${stderr}`);
  };
}

const { execPath: node } = process;
const call = "http://localhost/gin.v1.GinService/Call";
const curl = [
  "curl",
  "-sSf",
  "--unix-socket",
  daemon.socket,
  "-H",
  "content-type: application/json",
  "-d",
  body,
  "-o",
  "/dev/null",
  call,
];
const times = await sideBySide(
  {
    gin: whole([node, "bin/gin", "read", "src/file.txt"], text),
    node: whole([node, "-e", "0"], ""),
    http: whole([node, bundle("http"), daemon.socket, body], text),
    net: whole([node, bundle("net"), daemon.socket, body], text),
    curl: whole(curl, ""),
  },
  // Round by round one of each, so that whatever the machine does meanwhile hits all alike.
  { runs: RUNS, warm: 3, rounds: RUNS },
);

report(
  "cli",
  {
    "p50 to node -e 0": atMost(times.gin.p50 / times.node.p50, 1.9),
    "p50 to a node:http bundle": shown(times.gin.p50 / times.http.p50),
    "p50 to a node:net bundle": shown(times.gin.p50 / times.net.p50),
    "p50 to curl": shown(times.gin.p50 / times.curl.p50),
    "node:http bundle to node -e 0": shown(times.http.p50 / times.node.p50),
    "node:net bundle to node -e 0": shown(times.net.p50 / times.node.p50),
    "p90 to node -e 0": shown(times.gin.at(0.9) / times.node.at(0.9)),
  },
  {
    gin_p50_ms: times.gin.p50,
    gin_p90_ms: times.gin.at(0.9),
    node_p50_ms: times.node.p50,
    http_p50_ms: times.http.p50,
    net_p50_ms: times.net.p50,
    curl_p50_ms: times.curl.p50,
  },
  RUNS,
);
await daemon.stop();
process.exit(0);
