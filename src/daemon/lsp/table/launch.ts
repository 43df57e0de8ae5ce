import { join } from "node:path";
import type { Found, ServerOverride } from "../pool/types.ts";
import type { LaunchSpec } from "../session/types.ts";
import type { LspWorkspace } from "../types.ts";
import type { ServerSpec } from "./types.ts";

/** Milliseconds `initialize` may take: Java's server needs the most. */
const INITIALIZE_MS = 60_000;

/** Of the daemon's environment every server gets these. */
const PASSED = ["HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "LOGNAME"];

/** What a launch is made from beside row and program. */
export interface LaunchDeps {
  /** The daemon's own. */
  readonly environment: { readonly [name: string]: string | undefined };
  /** Directories a server may find programs in. */
  readonly path: () => readonly string[];
  /** Whether a variable's value leads into a workspace; default never. */
  readonly inside?: (value: string) => boolean;
  readonly overrides: { readonly [server: string]: ServerOverride | undefined };
}

/**
 * Everything needed to start a server for a workspace's folder: the table, over it what the owner says, over that, for a workspace that is not
 * trusted, what keeps it from running the workspace's code. The caller has seen to it that an untrusted one is not refused.
 */
export function launchOf(
  spec: ServerSpec,
  found: Found,
  workspace: Pick<LspWorkspace, "root" | "trusted">,
  folder: string,
  deps: LaunchDeps,
): LaunchSpec {
  const override = deps.overrides[spec.id];
  const untrusted = workspace.trusted || spec.untrusted === "refused" ? {} : spec.untrusted;
  const settings = [spec.settings, override?.settings, untrusted.settings].reduce<unknown>(overlay, {});
  const options = [spec.initializationOptions, override?.initialization_options, untrusted.initializationOptions];
  return {
    server: spec.id,
    command: found.command,
    env: { ...passedOn(spec, workspace.trusted, deps), ...spec.env, ...override?.env, ...untrusted.env },
    directory: folder === "" ? workspace.root : join(workspace.root, folder),
    initializationOptions: options.reduce(overlay, undefined),
    settings: (section) => sectionOf(settings, section),
    asksSettings: spec.asksSettings === true,
    readiness: spec.readiness,
    shutdownParams: spec.shutdownParams ?? "null",
    initializeMs: INITIALIZE_MS,
    ...(spec.beside === undefined ? {} : { failures: spec.beside.failures }),
    ...(spec.doubts === undefined ? {} : { doubts: spec.doubts }),
  };
}

/** What names a toolchain or an environment is not passed on when that lies in a workspace and this one is not trusted: its programs would be run. */
function passedOn(spec: ServerSpec, trusted: boolean, { environment, path, inside }: LaunchDeps): Record<string, string> {
  const env: Record<string, string> = { PATH: path().join(":") };
  for (const name of PASSED) {
    const value = environment[name];
    if (value !== undefined) env[name] = value;
  }
  for (const name of spec.passes ?? []) {
    const value = environment[name];
    if (value !== undefined && (trusted || inside?.(value) !== true)) env[name] = value;
  }
  return env;
}

/** `over` laid over `base`: objects field by field, everything else whole. Undefined changes nothing. */
function overlay(base: unknown, over: unknown): unknown {
  if (over === undefined) return base;
  if (!isObject(base) || !isObject(over)) return over;
  const merged: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(over)) merged[name] = overlay(merged[name], value);
  return merged;
}

/** The value at a section ("python.analysis"); null where there is none, everything for undefined. */
function sectionOf(settings: unknown, section: string | undefined): unknown {
  if (section === undefined || section === "") return settings;
  if (isObject(settings) && Object.hasOwn(settings, section)) return settings[section];
  let at: unknown = settings;
  for (const name of section.split(".")) {
    if (!isObject(at) || !Object.hasOwn(at, name)) return null;
    at = at[name];
  }
  return at;
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
