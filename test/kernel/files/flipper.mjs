// Attacker of the race test: flips a directory and a file of the root against symlinks that leave it, as fast as it can.
// Arguments: root, seconds to live at most. Prints "ready" once, and the number of flips when its standard input closes.
import { symlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import koffi from "koffi";

const [, , root, seconds] = process.argv;
const at = (name) => join(root, name);
symlinkSync(join(root, "../root-evil"), at("evil-dir"));
symlinkSync("../root-evil/secret", at("evil-file"));
let flips = 0;
let stop = false;
process.stdin.on("close", () => {
  stop = true;
});
process.stdin.resume();
const until = performance.now() + Number(seconds) * 1000;

const rename = koffi.load(null).func("int renameat2(int, const char *, int, const char *, unsigned int)");
const AT_FDCWD = -100;
const RENAME_EXCHANGE = 2;

/** Puts `evil` where `good` is, or back, in one step: the name never misses. */
function flip(good, evil) {
  if (rename(AT_FDCWD, at(good), AT_FDCWD, at(evil), RENAME_EXCHANGE) !== 0) throw new Error(`errno ${koffi.errno()} at ${good}`);
  flips++;
}

function burst() {
  for (let i = 0; i < 50; i++) {
    flip("d", "evil-dir");
    flip("f", "evil-file");
  }
  if (stop || performance.now() > until) {
    writeSync(1, `${flips}\n`);
    process.exit(0);
  }
  setImmediate(burst);
}

writeSync(1, "ready\n");
burst();
