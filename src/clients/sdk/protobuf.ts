// What of the SDK needs protobuf, as one module to be imported late: the CLI's bundle leaves it in a file of its own.
export { createClient } from "./client.ts";
export { decodeErrorDetail } from "./decode.ts";
