import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type FailPoint, type FailPoints, noFailPoints } from "../../../src/daemon/base/index.ts";
import { proofCount, reportProof } from "../../helpers/proof.ts";
import { type Chance, chance } from "../../helpers/random.ts";
import { checkImage, type History } from "./check-image.ts";
import { applyTo, hashOf, type Model, type ModelFile, pathsOf, someEdits } from "./model.ts";
import { copyImage, diskFiles, fastTemp, openSite, type Site, saveInput } from "./site.ts";

/** Saves of one session, and how likely each point passed is to be kept as an image. */
const SAVES = 8;
const KEEP = 0.09;

/** An image, and what the clients knew when it was taken. */
interface Image {
  readonly directory: string;
  readonly point: FailPoint;
  readonly history: History;
}

/** Runs random saves, one or two at a time, and copies the site at random points on the way. */
async function session(chance: Chance, base: string, label: string, left: number): Promise<Image[]> {
  const history: History = { attempted: new Map(), acknowledged: new Set() };
  const images: Image[] = [];
  const directory = join(base, label);
  const failPoints: FailPoints = {
    hit(point) {
      if (images.length >= left || !chance.maybe(KEEP)) return;
      const image = join(base, `${label}.${images.length}`);
      copyImage(directory, image);
      images.push({
        directory: image,
        point,
        history: { attempted: new Map(history.attempted), acknowledged: new Set(history.acknowledged) },
      });
    },
  };
  const site = await openSite(directory, { failPoints });
  const model: Model = new Map();
  for (let index = 0; index < SAVES; index++) {
    const one = someEdits(chance, model, `${label}-${index}a`);
    const both = chance.maybe(0.3) ? someEdits(chance, model, `${label}-${index}b`, new Set(pathsOf(one))) : [];
    const plans = [one, both].filter((edits) => edits.length > 0);
    await Promise.all(plans.map((edits, at) => saveOne(site, history, `${label}-${index}-${at}`, edits)));
    for (const edits of plans) applyTo(model, edits);
  }
  await site.close();
  // By hash: comparing large buffers byte by byte in JavaScript would take most of the test's time.
  expect(hashes(diskFiles(join(directory, "ws")))).toEqual(hashes(model));
  return images;
}

function hashes(files: Iterable<readonly [string, ModelFile]>): Map<string, string> {
  return new Map([...files].map(([path, { bytes, executable }]) => [path, `${hashOf(bytes)} ${executable}`]));
}

async function saveOne(site: Site, history: History, id: string, edits: ReturnType<typeof someEdits>): Promise<void> {
  history.attempted.set(id, edits);
  await site.workspace.save(saveInput(site, id, edits));
  history.acknowledged.add(id);
}

/** Edits a random file of the image the way an editor would, before gin starts again; gives its bytes by path. */
function outsideEdit(chance: Chance, image: string): Map<string, Buffer> {
  const files = [...diskFiles(join(image, "ws"))].filter(([path]) => !path.includes(".gin-tmp-"));
  if (files.length === 0) return new Map();
  const [path, file] = chance.pick(files);
  const bytes = Buffer.from(`edited outside ${chance.int(2 ** 30)}\n`);
  writeFileSync(join(image, "ws", path), bytes);
  chmodSync(join(image, "ws", path), file.executable ? 0o755 : 0o644);
  return new Map([[path, bytes]]);
}

it("G1: whatever point of a save the process dies at, nothing acknowledged is lost and nothing is half there", async () => {
  const random = chance("crash images");
  const wanted = proofCount("G1", { test: 1_000, proof: 20_000 });
  const base = mkdtempSync(join(fastTemp, "gin-g1-"));
  const points = new Map<string, number>();
  const broken: string[] = [];
  let count = 0;
  let edited = 0;
  try {
    for (let run = 0; count < wanted; run++) {
      const images = await session(random, base, `s${run}`, wanted - count);
      for (const image of images) {
        const outside = random.maybe(0.3) ? outsideEdit(random, image.directory) : new Map<string, Buffer>();
        if (outside.size > 0) edited++;
        // One image in five is found by a machine that was started again: everything applied is looked at anew.
        const boot = random.maybe(0.2) ? "boot-2" : "boot-1";
        for (const fault of await checkImage(image.directory, image.history, outside, { boot, failPoints: noFailPoints })) {
          broken.push(`${image.point} (${boot}): ${fault}`);
        }
        points.set(image.point, (points.get(image.point) ?? 0) + 1);
        rmSync(image.directory, { recursive: true, force: true });
        count++;
      }
      rmSync(join(base, `s${run}`), { recursive: true, force: true });
      if (broken.length > 20) break;
    }
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
  reportProof({ row: "G1", count, violations: broken.length, seed: random.seed, points: points.size, with_outside_edit: edited });
  expect(broken).toEqual([]);
}, 3_600_000);
