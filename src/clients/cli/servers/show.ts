import type { JsonObject } from "../../sdk/index.ts";
import type { Context } from "../command.ts";
import { bytes, duration, list, type Output, object, type Style, text, texts } from "../output.ts";
import { more } from "../paging.ts";
import { showLine, showText } from "../terminal.ts";

/** Shows an answer, each action's in its own way; what it does not hold is told beside it. */
export function showAnswer(context: Context, answer: JsonObject): void {
  const { out, err } = context;
  if (context.json) {
    out.json(answer);
    return;
  }
  if (answer.partial === true) err.line(err.style("yellow", `partial: ${showLine(text(answer, "note"))}`));
  else if (text(answer, "note") !== "") err.line(err.style("dim", showLine(text(answer, "note"))));
  show(context, answer);
  more(context, text(answer, "next_cursor"));
}

function show(context: Context, answer: JsonObject): void {
  const { out } = context;
  switch (text(answer, "action")) {
    case "hover":
      out.line(
        text(answer, "hover") === ""
          ? out.style("dim", "nothing is known of this place")
          : showText(text(answer, "hover")).trimEnd(),
      );
      return;
    case "symbols":
    case "workspace_symbols":
      for (const symbol of list(answer, "symbols")) showSymbol(out, symbol, text(answer, "action") === "symbols");
      none(out, list(answer, "symbols"), "no symbols");
      return;
    case "diagnostics":
      showDiagnostics(out, list(answer, "diagnostics"));
      return;
    case "incoming_calls":
    case "outgoing_calls":
      for (const call of list(answer, "calls")) showCall(out, call);
      none(out, list(answer, "calls"), "no calls");
      return;
    case "signature":
      showSignatures(out, list(answer, "signatures"));
      return;
    case "completion": {
      const rows = list(answer, "completions").map((one) => [text(one, "label"), text(one, "kind"), text(one, "detail")]);
      if (rows.length === 0) none(out, rows, "no completions");
      else out.table(["label", "kind", "detail"], rows);
      return;
    }
    case "check":
      showDiagnostics(out, list(answer, "introduced"), "nothing new");
      out.line(out.style("dim", `${text(answer, "resolved")} would go; nothing was changed`));
      return;
    case "view":
      out.content(text(answer, "text"));
      return;
    case "status":
    case "restart":
      showServers(out, list(answer, "servers"));
      return;
    case "rename":
    case "format":
    case "organize_imports":
      showEdit(context, answer);
      return;
    case "code_actions":
      if (list(answer, "files").length > 0 || text(answer, "title") !== "") showEdit(context, answer);
      else showActions(out, list(answer, "code_actions"));
      return;
    default:
      for (const location of list(answer, "locations")) showLocation(out, location);
      none(out, list(answer, "locations"), "nowhere");
      return;
  }
}

function none(out: Output, items: readonly unknown[], said: string): void {
  if (items.length === 0) out.line(out.style("dim", said));
}

/** "path:line:character". */
function at(path: string, span: JsonObject): string {
  const start = object(span, "start");
  return `${showLine(path)}:${text(start, "line")}:${text(start, "character")}`;
}

function placeOf(location: JsonObject): string {
  return at(text(location, "path"), object(location, "span"));
}

function showLocation(out: Output, location: JsonObject): void {
  const outside = location.outside === true ? `  (outside: gin lsp view ${showLine(text(location, "view"))})` : "";
  const excerpt = showLine(text(location, "excerpt").trim());
  out.line(`${placeOf(location)}  ${out.style("dim", `${excerpt}${outside}`)}`.trimEnd());
}

function showSymbol(out: Output, symbol: JsonObject, within: boolean): void {
  const { line, character } = object(object(symbol, "selection"), "start");
  const name = `${showLine(text(symbol, "kind"))} ${out.style("bold", showLine(text(symbol, within ? "name" : "name_path")))}`;
  const detail = text(symbol, "detail") === "" ? "" : `  ${showLine(text(symbol, "detail"))}`;
  const where = within ? `${line}:${character}` : placeOf(object(symbol, "location"));
  const indent = within ? "  ".repeat(Number(text(symbol, "depth"))) : "";
  out.line(`${indent}${name}  ${out.style("dim", `${where}${detail}`)}`);
}

const SEVERITY: { readonly [severity: string]: Style } = { error: "red", warning: "yellow", information: "blue", hint: "dim" };

function showDiagnostics(out: Output, files: readonly JsonObject[], said = "none"): void {
  for (const file of files) {
    const path = text(file, "path");
    if (text(file, "reason") !== "") {
      const why = `${text(file, "reason")}: ${showLine(text(file, "reason_message"))}`;
      out.line(`${showLine(path)}: ${out.style("yellow", `not known: ${why}`)}`);
    }
    const found = list(file, "diagnostics");
    if (found.length === 0 && text(file, "reason") === "") out.line(`${showLine(path)}: ${out.style("green", "none")}`);
    for (const one of found) {
      const severity = text(one, "severity");
      const from = [text(one, "source"), text(one, "code")].filter((part) => part !== "").join(" ");
      const message = showLine(text(one, "message"));
      const tail = from === "" ? "" : out.style("dim", ` [${showLine(from)}]`);
      out.line(`${at(path, object(one, "span"))}: ${out.style(SEVERITY[severity] ?? "dim", severity)}: ${message}${tail}`);
    }
  }
  none(out, files, said);
}

function showCall(out: Output, call: JsonObject): void {
  const sites = list(call, "sites").map(placeOf).join(", ");
  out.line(
    `${showLine(text(call, "kind"))} ${out.style("bold", showLine(text(call, "name")))}  ${placeOf(object(call, "location"))}`,
  );
  if (sites !== "") out.line(out.style("dim", `  at ${sites}`));
}

function showSignatures(out: Output, signatures: readonly JsonObject[]): void {
  for (const one of signatures) {
    out.line(`${one.active === true ? ">" : " "} ${showLine(text(one, "label"))}`);
    const documentation = text(one, "documentation");
    if (documentation !== "") out.line(out.style("dim", `  ${showLine(documentation)}`));
  }
  none(out, signatures, "no signature");
}

function showActions(out: Output, actions: readonly JsonObject[]): void {
  if (actions.length === 0) {
    none(out, actions, "no actions");
    return;
  }
  out.table(
    ["id", "kind", "title"],
    actions.map((one) => {
      const why = text(one, "disabled") === "" ? "" : ` (cannot be applied: ${text(one, "disabled")})`;
      return [text(one, "id"), text(one, "kind"), `${text(one, "title")}${one.preferred === true ? " (preferred)" : ""}${why}`];
    }),
  );
}

function showEdit({ out, err }: Context, answer: JsonObject): void {
  const saved = text(answer, "checkpoint") !== "";
  for (const file of list(answer, "files")) {
    const moved = text(file, "renamed_to") === "" ? "" : ` → ${showLine(text(file, "renamed_to"))}`;
    const whole = file.deleted === true ? " (deleted)" : file.created === true ? " (new)" : "";
    out.line(`${out.style("bold", showLine(text(file, "path")))}${moved}${whole}`);
    for (const change of list(file, "changes")) {
      const { start, end } = object(change, "span") as { readonly start?: JsonObject; readonly end?: JsonObject };
      const span = `${text(start ?? {}, "line")}:${text(start ?? {}, "character")}-${text(end ?? {}, "line")}:${text(end ?? {}, "character")}`;
      out.line(`  ${out.style("dim", span)}  ${out.style("green", showLine(text(change, "new_text")))}`);
    }
  }
  if (saved) showSaved(out, answer);
  else if (answer.no_change === true || list(answer, "files").length === 0)
    out.line(out.style("dim", "nothing is to be changed"));
  else err.line("nothing was changed; --apply saves it");
}

function showSaved(out: Output, answer: JsonObject): void {
  const verified = object(answer, "verified");
  const counts =
    text(verified, "references_before") === ""
      ? ""
      : `references ${text(verified, "references_before")} before, ${text(verified, "references_after")} after`;
  const introduced = list(verified, "introduced");
  if (introduced.length > 0) {
    out.line(out.style("red", "new diagnostics:"));
    showDiagnostics(out, introduced);
  }
  const notes = [
    `checkpoint ${text(answer, "checkpoint")}`,
    `request ${showLine(text(answer, "request_id"))}`,
    answer.replayed === true ? "answered before" : "",
    counts,
    text(verified, "note"),
  ];
  out.line(
    out.style(
      "dim",
      notes
        .filter((note) => note !== "")
        .map(showLine)
        .join(", "),
    ),
  );
}

function showServers(out: Output, servers: readonly JsonObject[]): void {
  if (servers.length === 0) {
    none(out, servers, "no language server is for a file of this workspace");
    return;
  }
  out.table(
    ["server", "folder", "state", "version", "memory", "open", "idle", "note"],
    servers.map((one) => [
      text(one, "server"),
      text(one, "folder") === "" ? "." : text(one, "folder"),
      text(one, "state"),
      text(one, "version"),
      text(one, "resident_bytes") === "0" ? "" : bytes(text(one, "resident_bytes")),
      text(one, "open_documents"),
      text(one, "idle_ms") === "0" ? "" : duration(text(one, "idle_ms")),
      [
        text(one, "note"),
        text(one, "install") === "" ? "" : `install: ${text(one, "install")}`,
        texts(one, "languages").slice(0, 4).join(" "),
      ]
        .filter((part) => part !== "")
        .join("; "),
    ]),
  );
}
