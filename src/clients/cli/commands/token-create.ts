import { resolve } from "node:path";
import { writeTokenFile } from "../../../paths/index.ts";
import { milliseconds, UsageError } from "../../sdk/index.ts";
import { type Command, flag, flags, given } from "../command.ts";
import { object, text, texts } from "../output.ts";

/** Makes a token. It is shown this once: into a private file, or on standard output. */
export const command: Command = {
  usage:
    "token create PRINCIPAL --scope SCOPE… [--for WORKSPACE]… [--path PREFIX]… [--expires TIME] [--out FILE] [--request-id ID]",
  words: [1, 1],
  flags: {
    scope: { type: "string", multiple: true },
    for: { type: "string", multiple: true },
    path: { type: "string", multiple: true },
    expires: { type: "string" },
    out: { type: "string" },
    "request-id": { type: "string" },
  },
  help: [
    ["--scope SCOPE", "read, save, lease … (gin capabilities lists them); may be repeated"],
    ["--for WORKSPACE", "a workspace it may speak of; none is all; may be repeated"],
    ["--path PREFIX", "a prefix it may touch; none is all; may be repeated"],
    ["--expires TIME", "30d unless said otherwise, at most 366d"],
    ["--out FILE", "write the token there (mode 600) instead of printing it"],
  ],
  async run(context) {
    const scopes = flags(context, "scope").flatMap((scope) => scope.split(","));
    if (scopes.length === 0) throw new UsageError("--scope SCOPE is needed, at least once");
    const expires = flag(context, "expires");
    const out = flag(context, "out");
    // Before anything is asked: a token that was made and cannot be put down is lost.
    const file = out === undefined ? undefined : resolve(out);
    const answer = await context.session().admin("CreateToken", {
      principal: context.positionals[0] ?? "",
      scopes,
      workspaces: flags(context, "for"),
      paths: flags(context, "path"),
      ...given("expires_in_ms", expires === undefined ? undefined : milliseconds(expires, "--expires")),
      ...given("request_id", flag(context, "request-id")),
    });
    const token = text(answer, "token");
    if (file !== undefined && token !== "") writeTokenFile(file, token);
    if (context.json) {
      context.out.json(file === undefined ? answer : { ...answer, token: "" });
      return;
    }
    const info = object(answer, "info");
    context.err.facts([
      ["token", text(info, "id")],
      ["principal", text(info, "principal")],
      ["scopes", texts(info, "scopes").join(" ")],
      ["workspaces", texts(info, "workspaces").join(" ") || "all"],
      ["paths", texts(info, "paths").join(" ") || "all"],
      ["expires", text(info, "expires")],
      ["file", file ?? ""],
    ]);
    if (token === "") context.err.line("it was made before and is not shown again");
    else if (file === undefined) context.out.line(token);
  },
};
