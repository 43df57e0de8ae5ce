import { GinError } from "../base/index.ts";
import { CHANGES_KEPT } from "../lease/index.ts";
import { TOUCHED_PATHS } from "../lsp/index.ts";
import {
  MEMORY_KEY_CHARACTERS,
  MEMORY_SCOPE_BYTES,
  MEMORY_SCOPE_ID_CHARACTERS,
  MEMORY_TOTAL_BYTES,
  MEMORY_VALUE_BYTES,
} from "../memory/index.ts";
import { MEMORY_CHANGES_KEPT } from "../store/index.ts";

const MIB = 1_048_576;

/** One limit: its value and what it counts. */
export interface LimitInfo {
  readonly value: number;
  readonly unit: "bytes" | "characters" | "entries" | "lines" | "ms";
}

function limit(value: number, unit: LimitInfo["unit"]): LimitInfo {
  return { value, unit };
}

/** Every limit of the api. Capabilities prints it; nothing else in the room holds a bound of its own. */
export const LIMITS = {
  message_bytes: limit(4 * MIB, "bytes"),
  message_save_bytes: limit(16 * MIB, "bytes"),
  request_id_characters: limit(128, "characters"),
  path_bytes: limit(4_096, "bytes"),
  path_component_bytes: limit(255, "bytes"),
  page_default_bytes: limit(25_000, "bytes"),
  page_max_bytes: limit(MIB, "bytes"),
  list_default_entries: limit(100, "entries"),
  list_max_entries: limit(1_000, "entries"),
  checkpoint_paths: limit(20, "entries"),
  context_changes: limit(10, "entries"),
  context_full_changes: limit(100, "entries"),
  diff_context_lines: limit(1_000, "lines"),
  diff_file_bytes: limit(8 * MIB, "bytes"),
  save_edits: limit(10_000, "entries"),
  save_message_bytes: limit(4_096, "bytes"),
  undo_checkpoints: limit(10_000, "entries"),
  undo_bytes: limit(256 * MIB, "bytes"),
  annotation_text_bytes: limit(65_536, "bytes"),
  annotation_anchors: limit(100, "entries"),
  annotation_evidence_characters: limit(256, "characters"),
  answer_kept_bytes: limit(65_536, "bytes"),
  lease_ttl_min_ms: limit(5_000, "ms"),
  lease_ttl_default_ms: limit(600_000, "ms"),
  lease_ttl_max_ms: limit(3_600_000, "ms"),
  lease_wait_max_ms: limit(60_000, "ms"),
  lease_paths: limit(1_000, "entries"),
  lease_intent_bytes: limit(1_024, "bytes"),
  note_bytes: limit(4_096, "bytes"),
  name_bytes: limit(128, "bytes"),
  token_lists: limit(100, "entries"),
  token_expires_default_ms: limit(30 * 86_400_000, "ms"),
  token_expires_max_ms: limit(366 * 86_400_000, "ms"),
  drain_default_ms: limit(10_000, "ms"),
  drain_max_ms: limit(600_000, "ms"),
  request_kept_ms: limit(7 * 86_400_000, "ms"),
  detail_kept_ms: limit(86_400_000, "ms"),
  streams: limit(256, "entries"),
  streams_principal: limit(64, "entries"),
  memory_key_characters: limit(MEMORY_KEY_CHARACTERS, "characters"),
  memory_value_bytes: limit(MEMORY_VALUE_BYTES, "bytes"),
  memory_scope_id_characters: limit(MEMORY_SCOPE_ID_CHARACTERS, "characters"),
  memory_scope_bytes: limit(MEMORY_SCOPE_BYTES, "bytes"),
  memory_total_bytes: limit(MEMORY_TOTAL_BYTES, "bytes"),
  lsp_batch: limit(20, "entries"),
  lsp_timeout_default_ms: limit(10_000, "ms"),
  lsp_batch_timeout_default_ms: limit(30_000, "ms"),
  lsp_timeout_max_ms: limit(300_000, "ms"),
  lsp_symbol_bytes: limit(1_024, "bytes"),
  lsp_query_bytes: limit(256, "bytes"),
  lsp_paths: limit(200, "entries"),
  lsp_checkpoint_paths: limit(TOUCHED_PATHS, "entries"),
  lsp_trials: limit(32, "entries"),
  lsp_trial_bytes: limit(4 * MIB, "bytes"),
  lsp_answers_kept: limit(64, "entries"),
  route_need_bytes: limit(4_096, "bytes"),
  route_tools: limit(8, "entries"),
  watch_lease_changes: limit(CHANGES_KEPT, "entries"),
  watch_memory_changes: limit(MEMORY_CHANGES_KEPT, "entries"),
} as const satisfies Record<string, LimitInfo>;

/** Name of a limit. */
export type LimitName = keyof typeof LIMITS;

/** Refuses a list, text or content that is over its limit: TOO_LARGE with limit and unit. */
export function checkSize(name: LimitName, actual: number, field: string): void {
  const { value, unit } = LIMITS[name];
  if (actual <= value) return;
  throw new GinError("TOO_LARGE", `${field} has ${actual} ${unit}; the limit is ${value}`, undefined, {
    facts: { field, limit: value, unit },
  });
}

/** Refuses a number that is over its limit: INVALID_REQUEST with field and limit. */
export function checkMost(name: LimitName, actual: number, field: string): void {
  const { value, unit } = LIMITS[name];
  if (actual <= value) return;
  throw new GinError("INVALID_REQUEST", `${field} is ${actual}; the most is ${value} ${unit}`, undefined, {
    facts: { field, limit: value },
  });
}

/** Refuses a number that is under its limit: INVALID_REQUEST with field and limit. */
export function checkLeast(name: LimitName, actual: number, field: string): void {
  const { value, unit } = LIMITS[name];
  if (actual >= value) return;
  throw new GinError("INVALID_REQUEST", `${field} is ${actual}; the least is ${value} ${unit}`, undefined, {
    facts: { field, limit: value },
  });
}

/** A field that breaks a rule no limit expresses. `field` is its path in the request, e.g. "edits[3].expect". */
export function invalid(field: string, message: string): GinError {
  return new GinError("INVALID_REQUEST", `${field}: ${message}`, undefined, { facts: { field } });
}

/** Whether a text is a SHA-256 as the contract writes it: lower-case hex. */
export function isHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** Bytes of a text in UTF-8. */
export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

/** A 64-bit count as a number; what is beyond 2^53 - 1 becomes that, which no real counter reaches. */
export function toCount(value: bigint): number {
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
}
