import { defineConfig } from "vitest/config";

/** A project of one folder of tests. Those with an `order` run after the others, a file at a time: they use the whole machine. */
const project = (name: string, timeoutMs: number, order = 0) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    pool: "forks" as const,
    sequence: { groupOrder: order },
    // Left alone, the runner leaves one core idle, which is half of a small machine.
    maxWorkers: order > 0 ? 1 : "100%",
  },
});

export default defineConfig({
  test: {
    reporters: process.env["CI"] ? ["default", "json"] : ["default"],
    outputFile: { json: process.env["VITEST_JSON"] ?? ".reports/vitest.json" },
    projects: [
      project("unit", 20_000),
      project("compliance", 60_000),
      project("sim", 120_000),
      project("fuzz", 60_000),
      project("integration", 120_000),
      project("interop", 300_000, 1),
      project("bench", 120_000, 2),
      project("e2e", 180_000, 3),
    ],
  },
});
