import type { JsonObject } from "../sdk/index.ts";
import { causeOf, causeStyle, pathsOf, takenBack } from "./checkpoints.ts";
import { duration, list, type Output, object, type Style, short, text, texts } from "./output.ts";
import { showLine, width } from "./terminal.ts";
import { shownId, timeOfDay } from "./when.ts";

/** What one line of `gin watch` says. Everything is foreign text, made safe where it is laid out, but `what`. */
interface Told {
  readonly word: string;
  readonly style: Style;
  readonly who: string;
  readonly id: string;
  /** Safe already. */
  readonly what: string;
  /** When it was, as the daemon writes it; "" when it does not say. */
  readonly time: string;
}

const LEASE_STYLES: { readonly [change: string]: Style } = { granted: "cyan", held: "cyan", broken: "red", expired: "yellow" };

/** One message of Watch on one line: when, what, who, which, and the rest in words. `now` stands for what has no time of its own. */
export function eventLine(out: Output, message: JsonObject, now: Date): string {
  const { word, style, who, id, what, time } = told(out, message);
  const at = out.terminal ? timeOfDay(time === "" ? now : new Date(time)) : (time || now.toISOString()).replace(/\.\d+Z$/, "Z");
  const columns = [
    out.style("dim", at),
    out.style(style, word.padEnd(9)),
    padded(showLine(who), 10),
    out.style("dim", padded(showLine(shownId(out, id)), out.terminal ? 11 : 23)),
    what,
  ];
  return columns.join("  ").trimEnd();
}

function told(out: Output, message: JsonObject): Told {
  if ("checkpoint" in message) return checkpoint(out, object(message, "checkpoint"));
  if ("lease" in message) return lease(out, object(message, "lease"));
  if ("annotation" in message) return annotation(object(message, "annotation"));
  if ("memory" in message) return memory(object(message, "memory"));
  const nothing = { who: "", id: "", time: "" };
  if ("trimmed" in message) {
    const kinds = texts(object(message, "trimmed"), "kinds").map((kind) => short(kind, "WATCH_KIND_"));
    const next = kinds.join() === "lease" ? "those held now follow" : "read the workspace again";
    const what = `${kinds.join(" and ")} events are not all kept: ${next}`;
    return { ...nothing, word: "gap", style: "red", what };
  }
  if ("ready" in message) return { ...nothing, word: "ready", style: "dim", what: "" };
  return { ...nothing, word: "unknown", style: "dim", what: "something this version of gin does not know" };
}

function checkpoint(out: Output, one: JsonObject): Told {
  const cause = causeOf(one);
  const parts = [showLine(pathsOf(one)), takenBack(out, one), showLine(text(one, "message"))];
  return {
    word: cause,
    style: causeStyle(cause),
    who: text(one, "principal") || "unknown",
    id: text(one, "id"),
    what: parts.filter((part) => part !== "").join("  "),
    time: text(one, "time"),
  };
}

function lease(_out: Output, event: JsonObject): Told {
  const change = short(text(event, "change"), "LEASE_CHANGE_");
  const one = object(event, "lease");
  const where = texts(one, "paths").map(showLine).join(" ") || "the whole workspace";
  const live = change === "granted" || change === "held";
  const left = live ? `  ${duration(text(one, "remaining_ms"))} left` : "";
  const intent = text(one, "intent") === "" ? "" : `  ${showLine(text(one, "intent"))}`;
  return {
    word: change,
    style: LEASE_STYLES[change] ?? "dim",
    who: text(one, "holder"),
    id: text(one, "lease_id"),
    what: `lease on ${where}${left}${intent}`,
    time: "",
  };
}

function annotation(one: JsonObject): Told {
  const anchors = list(one, "anchors").map((now) => {
    const anchor = object(now, "anchor");
    const [from, to] = [text(anchor, "start_line"), text(anchor, "end_line")];
    return `${showLine(text(anchor, "path"))}${from === "0" || from === "" ? "" : `:${from}${to === from ? "" : `-${to}`}`}`;
  });
  const lines = text(one, "text").split("\n");
  const said = showLine(`${lines[0] ?? ""}${lines.length > 1 ? " …" : ""}`);
  return {
    word: text(one, "corrects") !== "" ? "corrected" : text(one, "reply_to") !== "" ? "replied" : "annotated",
    style: "cyan",
    who: text(one, "principal"),
    id: text(one, "id"),
    what: [anchors.join(" "), said].filter((part) => part !== "").join("  "),
    time: text(one, "time"),
  };
}

function memory(event: JsonObject): Told {
  const [scope, scopeId] = [text(event, "scope"), text(event, "scope_id")];
  // The project is the workspace's own but where somebody named another.
  const where = scope === "project" || scopeId === "" ? scope : `${scope} ${scopeId}`;
  const change = short(text(event, "change"), "MEMORY_CHANGE_");
  return {
    word: change === "saved" ? "noted" : change,
    style: "cyan",
    who: text(event, "principal"),
    id: "",
    what: `memory ${showLine(text(event, "key"))}  ${showLine(where)}`,
    time: text(event, "time"),
  };
}

function padded(cell: string, columns: number): string {
  return cell + " ".repeat(Math.max(0, columns - width(cell)));
}
