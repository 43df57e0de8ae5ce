import { GinError } from "../../base/index.ts";
import { textArg } from "../args.ts";
import { loadFile } from "../files/load.ts";
import { toolPath } from "../files/path.ts";
import type { ReadContext, Tool, ToolResult } from "../types.ts";
import { type Directory, MARKERS, readJustfile, type Told } from "./markers.ts";

/** Longest file that is looked into. */
const MARKER_BYTES = 1024 * 1024;

/** Configuration that is named where it is, and not looked into. */
const NAMED = [".golangci.yml", ".golangci.yaml", "tsconfig.json", "next.config.js", "next.config.mjs", "next.config.ts"];
const JUSTFILES = ["justfile", "Justfile"];

/** detect_project: languages and commands of the project in a directory. */
export const detectProject: Tool = {
  name: "detect_project",
  description:
    "Languages, frameworks and the build, test and lint commands of the project in a directory, told by its own files. Looks at that directory alone.",
  features: ["language", "build_command", "test_command", "lint_command", "framework"],
  risk: "read_only",
  schema: {
    type: "object",
    properties: { path: { type: "string", default: ".", description: "The project's directory" } },
    additionalProperties: false,
  },
  intents: [
    {
      points: 8,
      any: ["project", "language", "framework", "stack", "toolchain", "built", "tested"],
      also: [["detect", "what", "which", "how", "find", "kind", "use", "command"]],
    },
    { points: 9, any: ["detect"], also: [["project", "language", "framework", "build", "test"]] },
  ],
  async run(args, context): Promise<ToolResult> {
    const path = toolPath(textArg(args, "path"));
    const names = await filesIn(context, path);
    const directory: Directory = { has: (name) => names.has(name) };
    const told: Told[] = [];
    const configs: string[] = [];
    for (const marker of MARKERS) {
      const text = await textOf(context, path, marker.name, names);
      const found = text === undefined ? undefined : marker.read(text, directory);
      if (found === undefined) continue;
      configs.push(marker.name);
      told.push(found);
    }
    const just = await justfile(context, path, names);
    if (just !== undefined) configs.push(just.name);
    configs.push(...NAMED.filter((name) => names.has(name)));
    const commands = told.find(({ build }) => isCommand(build)) ?? told.find(({ test, lint }) => isCommand(test ?? lint)) ?? {};
    const pick = (name: "build" | "test" | "lint"): string => just?.told[name] || commands[name] || "";
    return {
      result: JSON.stringify({
        languages: [...new Set(told.flatMap(({ language }) => language ?? []))],
        build_tool: pick("build"),
        test_command: pick("test"),
        linter: pick("lint"),
        config_files: configs,
        frameworks: NAMED.some((name) => name.startsWith("next.config.") && names.has(name)) ? ["Next.js"] : [],
      }),
    };
  },
};

const isCommand = (text: string | undefined): boolean => text !== undefined && text !== "";

/** Names of the regular files of a directory. */
async function filesIn({ workspace, authorise, signal }: ReadContext, path: string): Promise<ReadonlySet<string>> {
  const read = await workspace.readHead(path, { authorise, content: false, signal });
  if (read.kind !== "directory") {
    throw new GinError("NOT_A_DIRECTORY", `${path} is no directory`, "name the project's directory", { facts: { path } });
  }
  return new Set(read.entries.filter(({ kind, sensitive }) => kind === "file" && !sensitive).map(({ name }) => name));
}

/** A file's text; undefined when there is none of that name, or none that is worth a look. */
async function textOf(context: ReadContext, path: string, name: string, names: ReadonlySet<string>): Promise<string | undefined> {
  if (!names.has(name)) return undefined;
  try {
    const { bytes } = await loadFile(context, path === "" ? name : `${path}/${name}`, MARKER_BYTES);
    return bytes.toString("utf8");
  } catch (thrown) {
    // It vanished or is too long: it tells nothing.
    if (thrown instanceof GinError && ["PATH_NOT_FOUND", "TOO_LARGE", "NOT_A_FILE"].includes(thrown.reason)) return undefined;
    throw thrown;
  }
}

/** The justfile and its recipes. */
async function justfile(
  context: ReadContext,
  path: string,
  names: ReadonlySet<string>,
): Promise<{ name: string; told: Told } | undefined> {
  for (const name of JUSTFILES) {
    const text = await textOf(context, path, name, names);
    if (text !== undefined) return { name, told: readJustfile(text) };
  }
  return undefined;
}
