import { GinError, type Json, toGinError } from "./error.ts";
import { isReason } from "./reasons.ts";

/** A refusal on its way from a thread. */
export interface Refused {
  readonly reason: string;
  readonly message: string;
  readonly suggestion: string;
  readonly facts: { readonly [key: string]: Json };
}

/** What was thrown in a thread, as it is sent; `revive` makes it an error again. */
export function refused(thrown: unknown): Refused {
  const { reason, message, suggestion, facts } = toGinError(thrown);
  return { reason, message, suggestion, facts };
}

/** A refusal of a thread as the error it was. */
export function revive({ reason, message, suggestion, facts }: Refused): GinError {
  return new GinError(isReason(reason) ? reason : "INTERNAL", message, suggestion, { facts });
}
