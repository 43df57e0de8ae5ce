import { describe, expect, it } from "vitest";
import { GinError } from "../../../src/daemon/base/index.ts";
import { parseListen } from "../../../src/daemon/listen.ts";

describe("the listen setting", () => {
  it.each([
    ["", { kind: "default" }],
    ["none", { kind: "none" }],
    [":0", { kind: "asked", host: "127.0.0.1", port: 0 }],
    ["localhost:7400", { kind: "asked", host: "localhost", port: 7400 }],
    ["0.0.0.0:65535", { kind: "asked", host: "0.0.0.0", port: 65_535 }],
    ["[::1]:80", { kind: "asked", host: "::1", port: 80 }],
  ])("%s is understood", (text, choice) => {
    expect(parseListen(text)).toEqual(choice);
  });

  it.each(["7400", "127.0.0.1", "::1:80", "host:", "host:65536", "host:-1", "[]:1", "None"])("%s is refused", (text) => {
    expect(() => parseListen(text)).toThrow(GinError);
  });
});
