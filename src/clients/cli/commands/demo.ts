import type { Command } from "../command.ts";
import { NotAsTold, openStage } from "../demo/stage.ts";
import { tellStory } from "../demo/story.ts";
import { EXIT } from "../run.ts";

/** Shows two agents in one file, with real requests to a daemon of its own, and leaves nothing behind. */
export const command: Command = {
  usage: "demo",
  bare: true,
  async run({ out, err }) {
    const stage = await openStage(out);
    // The stage takes itself away when the process exits.
    const left = (): void => process.exit(130);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, left);
    try {
      out.line(`Two agents, alice and bob, in ${stage.root}: a copy of a small project, with a daemon of its own.`);
      out.line("Each request and each answer below is a real one.");
      await tellStory(stage);
      out.line();
      out.line("All of it went as told. Daemon and directory are taken away again.");
      return EXIT.done;
    } catch (thrown) {
      if (!(thrown instanceof NotAsTold)) throw thrown;
      err.line(`gin: ${thrown.message}`);
      return EXIT.refused;
    } finally {
      await stage.close();
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.removeListener(signal, left);
    }
  },
};
