import { defineConfig } from "vitest/config";

const project = (name: string, timeoutMs: number, options: { serial?: boolean } = {}) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    fileParallelism: options.serial !== true,
    pool: "forks" as const,
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
      project("interop", 300_000, { serial: true }),
      project("bench", 120_000, { serial: true }),
      project("e2e", 180_000, { serial: true }),
    ],
  },
});
