import type { Intent, MissingTool, Risk, ToolSchema } from "./types.ts";

const NOTHING: ToolSchema = { type: "object", properties: {}, additionalProperties: false };

/** What is known of a tool that cannot run here. */
interface Facts {
  readonly risk: Risk;
  readonly why: string;
  readonly description: string;
  readonly features: readonly string[];
  readonly intents?: readonly Intent[];
}

function missing(name: string, { risk, why, description, features, intents = [] }: Facts): MissingTool {
  return { name, description, features, schema: NOTHING, risk, intents, missing: why };
}

const NO_SHELL = "the shell is not part of this version";
const NO_WEB = "web tools are not part of this version";

/** Tools that no room stands behind yet: listed, so that nobody has to guess, and refused by name. */
export const missingTools: readonly MissingTool[] = [
  missing("run_shell", {
    risk: "shell",
    why: NO_SHELL,
    description: "Run a shell command in the workspace.",
    features: ["command", "timeout", "build", "test"],
    intents: [
      { points: 8, any: ["run", "execute", "shell", "bash", "command", "script"] },
      { points: 6, any: ["build", "test", "compile", "install"] },
    ],
  }),
  missing("run_plan", {
    risk: "mutating",
    why: NO_SHELL,
    description: "Run a small graph of commands and tools, each step decided by the one before.",
    features: ["steps", "conditions", "parallel"],
    intents: [{ points: 10, any: ["plan", "workflow", "pipeline", "step", "conditional", "conditionally"] }],
  }),
  missing("web_fetch", {
    risk: "network",
    why: NO_WEB,
    description: "Fetch a public web page as Markdown.",
    features: ["url", "markdown", "links"],
    intents: [{ points: 10, any: ["url", "http", "https", "webpage", "website", "fetch", "download"] }],
  }),
  missing("web_search", {
    risk: "network",
    why: NO_WEB,
    description: "Search the public web.",
    features: ["internet", "query", "news"],
    intents: [{ points: 10, any: ["web", "internet", "online", "google"], also: [["search", "find", "look", "lookup"]] }],
  }),
];
