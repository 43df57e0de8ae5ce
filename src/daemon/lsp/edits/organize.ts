import { GinError } from "../../base/index.ts";
import { handlerOf } from "../queries/ground.ts";
import { documentOf, type Ground } from "../queries/types.ts";
import type { EditPlan } from "../types.ts";
import { offeredAt, offersKind, planOfAction } from "./actions.ts";
import { editOfCommand } from "./commands.ts";
import { planOf, type Told, toldNow } from "./plan.ts";
import { spanOf } from "./range.ts";

const KIND = "source.organizeImports";

/** Servers that do it by a command of theirs and offer no action for it. */
const BY_COMMAND: Readonly<Record<string, string>> = {
  pyright: "pyright.organizeimports",
  basedpyright: "basedpyright.organizeimports",
};

/** Puts a file's imports in order, and removes those that nothing uses where the server does that. */
export const organizeImports = handlerOf({
  about: "document",
  indexing: "refused",
  across: "changes",
  async find(ground) {
    const { path, uri } = documentOf(ground);
    const title = `organize imports of ${path}`;
    const told = toldNow(ground);
    const command = BY_COMMAND[ground.leased.spec.id];
    if (command !== undefined) {
      const edit = await editOfCommand(ground, { command, arguments: [uri] });
      return { kind: "edit", plan: await planOf(ground, edit ?? {}, { title, told }) };
    }
    return { kind: "edit", plan: { ...(await byAction(ground, told)), title } };
  },
});

async function byAction(ground: Ground, told: Told): Promise<EditPlan> {
  const { text, path } = documentOf(ground);
  if (!offersKind(ground, KIND)) {
    throw new GinError("UNSUPPORTED", `${ground.leased.spec.id} does not organize imports`, undefined, {
      facts: { requested: KIND },
    });
  }
  const { line: _line, character: _character, endLine: _endLine, endCharacter: _endCharacter, ...whole } = ground.question;
  const offered = await offeredAt(ground, { span: spanOf(whole, text), only: [KIND] });
  const found = offered.find(({ action }) => action.kind === KIND && action.disabled === "") ?? offered[0];
  // None is offered where nothing is to be done.
  if (found === undefined) return planOf(ground, {}, { title: path, told });
  return planOfAction(ground, found, told);
}
