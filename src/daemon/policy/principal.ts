/** The principal of a caller on the socket that does not name itself. No token may carry it. */
export const OWNER = "owner";

const NAME = "[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}";
const WHOLE = new RegExp(`^${NAME}(?:/${NAME})?$`);
const SUB = new RegExp(`^/${NAME}$`);

/** True for "alice", "agent-7" and "agent-7/tests": at most one sub-agent, each part 1–64 characters. */
export function isPrincipal(name: string): boolean {
  return WHOLE.test(name);
}

/** True for what a caller with a token may append: "/tests". */
export function isSubAgent(suffix: string): boolean {
  return SUB.test(suffix);
}
