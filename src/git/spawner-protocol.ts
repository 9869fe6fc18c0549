import type { ChildExit, EndStage, SpawnRequest } from "./spawner.ts";

/** What a node tells its spawn helper. A `spawn` belongs to the two connections made just before it: stdin, then stdout. */
export type HelperRequest =
  | { readonly type: "spawn"; readonly id: number; readonly request: SpawnRequest; readonly wantsStderr: boolean }
  | { readonly type: "end"; readonly id: number; readonly stage: EndStage };

/** What the helper answers. */
export type HelperReport =
  | { readonly type: "ready" }
  | { readonly type: "started"; readonly id: number; readonly pid: number }
  | { readonly type: "stderr"; readonly id: number; readonly chunk: string }
  | { readonly type: "exited"; readonly id: number; readonly exit: Partial<ChildExit> };
