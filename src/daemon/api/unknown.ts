import type { DescEnum, DescMessage, Message } from "@bufbuild/protobuf";
import { invalid } from "./limits.ts";

/** One field of a message worth looking into: it holds a message, messages, or an enum. */
interface Branch {
  readonly name: string;
  readonly property: string;
  /** Property that holds `{ case, value }` when the field is one of a group. */
  readonly group: string | undefined;
  readonly message: DescMessage | undefined;
  readonly enumeration: DescEnum | undefined;
}

const plans = new WeakMap<DescMessage, readonly Branch[]>();

function planOf(schema: DescMessage): readonly Branch[] {
  let plan = plans.get(schema);
  if (plan === undefined) {
    plan = schema.fields
      .filter((field) => field.message !== undefined || field.enum !== undefined)
      .map((field) => ({
        name: field.name,
        property: field.localName,
        group: field.oneof?.localName,
        message: field.message,
        enumeration: field.enum,
      }));
    plans.set(schema, plan);
  }
  return plan;
}

/**
 * Refuses fields this version does not know, and enum numbers it does not know, anywhere in a decoded message:
 * INVALID_REQUEST naming the path (an unknown field by its number, e.g. "edits[3].#99"). A newer client must learn that what
 * it asked for was not understood, instead of getting something else done.
 */
export function refuseUnknown(schema: DescMessage, message: Message, path = ""): void {
  const unknown = message.$unknown?.[0];
  if (unknown !== undefined) throw invalid(`${path}#${unknown.no}`, "no such field");
  for (const branch of planOf(schema)) {
    const value = held(branch, message as unknown as Record<string, unknown>);
    if (value === undefined) continue;
    const at = `${path}${branch.name}`;
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) refuseIn(branch, value[index], `${at}[${index}]`);
    } else {
      refuseIn(branch, value, at);
    }
  }
}

function held(branch: Branch, message: Record<string, unknown>): unknown {
  if (branch.group === undefined) return message[branch.property];
  const group = message[branch.group] as { readonly case?: string; readonly value?: unknown };
  return group.case === branch.property ? group.value : undefined;
}

function refuseIn(branch: Branch, value: unknown, path: string): void {
  if (branch.message !== undefined) {
    if (!branch.message.typeName.startsWith("google.protobuf.")) refuseUnknown(branch.message, value as Message, `${path}.`);
  } else if (branch.enumeration?.value[value as number] === undefined) {
    throw invalid(path, `${String(value)} is not one of its values`);
  }
}
