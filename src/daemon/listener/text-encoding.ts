import { isUtf8 } from "node:buffer";
import { configureTextEncoding, getTextEncoding } from "@bufbuild/protobuf/wire";

/**
 * Sets how messages of this process hold text. protobuf's own decoder drops a byte order mark at the start of a field, and
 * with it three bytes of a file that is saved; its encoder makes an array buffer for each field, which costs more than the
 * rest of an answer.
 */
export function keepText(): void {
  const { checkUtf8 } = getTextEncoding();
  configureTextEncoding({
    checkUtf8,
    encodeUtf8: (text) => Buffer.from(text, "utf8"),
    decodeUtf8(bytes, strict) {
      if (strict === true && !isUtf8(bytes)) throw new TypeError("a text is not UTF-8");
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
    },
  });
}
