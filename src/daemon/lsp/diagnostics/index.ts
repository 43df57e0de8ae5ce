// The door of diagnostics for the room: what servers say is wrong, with files as they are and as they would be.
import type { Handlers } from "../queries/types.ts";
import { check } from "./check.ts";
import { ofFile, ofFiles } from "./files.ts";
import { ofWorkspace } from "./workspace.ts";

export { compared } from "./check.ts";
export { judge, pulls } from "./judge.ts";
export { tryTexts } from "./trial.ts";

/** Actions that judge files. */
export const diagnosticHandlers: Handlers = {
  async diagnostics(room, question, deadline) {
    const { path, paths, checkpoint, workspace } = question;
    if (path !== "") return ofFile(room, question, deadline);
    if (paths !== undefined) return ofFiles(room, question, paths, deadline);
    if (checkpoint === undefined) return ofWorkspace(room, question, deadline);
    return ofFiles(room, question, workspace.touched(checkpoint).filter(question.visible), deadline);
  },
  check,
};
