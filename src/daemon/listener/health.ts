import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.ts";
import { GinError } from "../base/index.ts";

/** Paths that need no token. */
export const HEALTH_PREFIX = `/${Health.typeName}/`;

/** Watches open at a time: nobody needs a token for one. */
const MAX_WATCHES = 64;

/** Whether the daemon serves; all that health ever tells, whatever service it is asked about. */
export class Serving {
  #serving = false;
  #watchers = new Set<() => void>();

  get status(): Status {
    return this.#serving ? Status.SERVING : Status.NOT_SERVING;
  }

  set(serving: boolean): void {
    if (this.#serving === serving) return;
    this.#serving = serving;
    for (const watcher of [...this.#watchers]) watcher();
  }

  /** Registers grpc.health.v1. */
  register(router: ConnectRouter): void {
    router.service(Health, {
      check: () => ({ status: this.status }),
      watch: (_request, context) => this.#watch(context.signal),
    });
  }

  async *#watch(signal: AbortSignal): AsyncGenerator<{ status: Status }> {
    if (this.#watchers.size >= MAX_WATCHES) throw new GinError("BUSY", "too many health watches are open");
    let wake = () => {};
    const onChange = () => wake();
    this.#watchers.add(onChange);
    signal.addEventListener("abort", onChange);
    try {
      for (;;) {
        const told = this.status;
        yield { status: told };
        while (!signal.aborted && this.status === told) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        if (signal.aborted) throw new ConnectError("the watch ended", Code.Canceled);
      }
    } finally {
      this.#watchers.delete(onChange);
      signal.removeEventListener("abort", onChange);
    }
  }
}
