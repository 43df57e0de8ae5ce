import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type ApiSite, type CallOptions, openApi, type SiteOptions } from "../api/site.ts";

/** A tool's answer: the envelope as CallTool gives it in JSON, empty and false fields written out; `meta`, `next_call` and `facts` are left out where there is none. */
export interface Envelope {
  readonly ok: boolean;
  readonly result: string;
  readonly content: readonly {
    readonly type: string;
    readonly text: string;
    readonly data: string;
    readonly mime_type: string;
  }[];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever a tool put there
  readonly meta: any;
  readonly error: string;
  readonly error_code: string;
  readonly suggestion: string;
  readonly classification: string;
  readonly risk: string;
  readonly request_id: string;
  // biome-ignore lint/suspicious/noExplicitAny: the arguments of any tool
  readonly next_call: { readonly tool: string; readonly arguments: any } | undefined;
  readonly replayed: boolean;
  readonly checkpoint: string;
  // biome-ignore lint/suspicious/noExplicitAny: facts differ by reason
  readonly facts: any;
}

/** How one call is made, beside its arguments. */
export interface ToolCallOptions extends CallOptions {
  /** Default: one is counted up, as the CLI would mint one. "" sends none. */
  readonly requestId?: string;
  readonly compress?: boolean;
  /** Further fields of CallToolRequest: incarnation, epoch, lease_incarnation, lease_epoch. */
  readonly fields?: { readonly [field: string]: unknown };
}

/** A workspace with the tools served over real HTTP. */
export interface ToolSite {
  readonly api: ApiSite;
  /** The workspace's directory. */
  readonly root: string;
  /** One CallTool. Throws when the answer is no envelope: a refusal of the transport, or of the caller. */
  // biome-ignore lint/suspicious/noExplicitAny: wrong arguments are a test's business
  call(tool: string, args: any, options?: ToolCallOptions): Promise<Envelope>;
  /** A call that must do its work: throws with the refusal otherwise. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  ok(tool: string, args: any, options?: ToolCallOptions): Promise<Envelope>;
  /** Writes a file of the workspace, outside gin; parents are made. */
  put(path: string, content: string | Uint8Array): void;
  /** A file's text on disk. */
  text(path: string): string;
  /** A file's bytes on disk. */
  bytes(path: string): Buffer;
}

/** Opens a workspace in a fresh directory, with `files` in it; it is closed at teardown. */
export async function openTools(
  files: { readonly [path: string]: string | Uint8Array } = {},
  options: SiteOptions = {},
): Promise<ToolSite> {
  const api = await openApi(options);
  const put = (path: string, content: string | Uint8Array): void => {
    const file = join(api.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  };
  for (const [path, content] of Object.entries(files)) put(path, content);
  let calls = 0;
  const call: ToolSite["call"] = async (tool, args, how = {}) => {
    calls += 1;
    const { requestId = `call-${calls}`, compress, fields } = how;
    const message = {
      tool,
      arguments: args,
      ...(requestId === "" ? {} : { request_id: requestId }),
      ...(compress === undefined ? {} : { compress }),
      ...fields,
    };
    const answer = await api.call("CallTool", message, how);
    if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.error ?? answer.body)}`);
    return { meta: undefined, next_call: undefined, facts: undefined, ...answer.body } as Envelope;
  };
  return {
    api,
    root: api.root,
    call,
    async ok(tool, args, how) {
      const answer = await call(tool, args, how);
      if (!answer.ok) throw new Error(`${tool}: ${answer.error_code}: ${answer.error}`);
      return answer;
    },
    put,
    text: (path) => readFileSync(join(api.root, path), "utf8"),
    bytes: (path) => readFileSync(join(api.root, path)),
  };
}
