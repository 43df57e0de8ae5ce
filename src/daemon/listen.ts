import type { Config } from "../paths/index.ts";
import { GinError } from "./base/index.ts";
import type { BoundAddress, Listener, TcpAddress, TlsFiles } from "./listener/index.ts";

/** Where TCP is offered when nobody said otherwise. */
const DEFAULT: TcpAddress = { host: "127.0.0.1", port: 7400 };

/** What `listen` asks for. */
export type ListenChoice =
  | { readonly kind: "none" }
  /** The usual address, or any free port of it. */
  | { readonly kind: "default" }
  /** Exactly this one. */
  | { readonly kind: "asked"; readonly host: string; readonly port: number };

/** Reads the setting: "", "none", ":PORT", "ADDRESS:PORT" or "[IPv6]:PORT". Throws INVALID_REQUEST. */
export function parseListen(text: string): ListenChoice {
  if (text === "") return { kind: "default" };
  if (text === "none") return { kind: "none" };
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new GinError(
      "INVALID_REQUEST",
      "listen must be ADDRESS:PORT, :PORT or none",
      "for example 127.0.0.1:7400, or :0 for any free port",
      {
        facts: { field: "listen" },
      },
    );
  }
  return { kind: "asked", host: match[1] || match[2] || DEFAULT.host, port };
}

/** Opens the TCP port as configured; undefined when there is to be none. Throws what the listener throws, in words for a person. */
export async function openTcp(listener: Listener, config: Config): Promise<BoundAddress | undefined> {
  const choice = parseListen(config.listen);
  if (choice.kind === "none") return undefined;
  const tls = tlsOf(config);
  const address = choice.kind === "asked" ? { host: choice.host, port: choice.port } : DEFAULT;
  const wanted: TcpAddress = tls === undefined ? address : { ...address, tls };
  try {
    return await listener.listenTcp(wanted);
  } catch (thrown) {
    if (!isTaken(thrown)) throw thrown;
    if (choice.kind === "default") return await listener.listenTcp({ ...wanted, port: 0 });
    throw new GinError(
      "IO_FAILED",
      `the port ${address.port} is taken`,
      "choose another with --listen, or :0 for any free port",
      {
        cause: thrown,
        facts: { errno: "EADDRINUSE" },
      },
    );
  }
}

function tlsOf(config: Config): TlsFiles | undefined {
  const { tls_cert: certFile, tls_key: keyFile, client_ca: clientCaFile } = config;
  if (certFile === "" && keyFile === "" && clientCaFile === "") return undefined;
  if (certFile === "" || keyFile === "") {
    throw new GinError("INVALID_REQUEST", "tls_cert and tls_key go together", "give both files", {
      facts: { field: "tls_cert" },
    });
  }
  return clientCaFile === "" ? { certFile, keyFile } : { certFile, keyFile, clientCaFile };
}

function isTaken(thrown: unknown): boolean {
  return thrown instanceof GinError && thrown.facts.errno === "EADDRINUSE";
}
