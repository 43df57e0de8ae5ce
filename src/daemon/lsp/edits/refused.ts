import { GinError } from "../../base/index.ts";

/** What a server proposed cannot be made as it stands, and so nothing of it is. `server` is of the table. */
export function refusedEdit(server: string, message: string, path?: string): GinError {
  return new GinError(
    "LSP_REFUSED",
    `${server} proposes an edit that cannot be made: ${message}`,
    "ask again, or make the edit yourself",
    {
      facts: { server, code: 0, message, ...(path === undefined ? {} : { path }) },
    },
  );
}
